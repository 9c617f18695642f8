package match
import ("testing";"time";"bytes";"fmt")
func TestTmp(t *testing.T){
 b64:=bytes.Repeat([]byte("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo"),1<<20/35)
 for _,src:=range []string{`listening on (\d+)`,`.*listening on (\d+)`,`(\w+)=(\d+)`,`BEGIN[^]*?END`,`Q[^]*?END`,`[a-z]+:`,`\S+\s+\S+`,`error|fatal`,`^.*error`,`(?<=a[^]*)Z!`,`^[^\n]*[$#] $`,`(?:Q|U|J|[A-Z])+!`,`\w+$`,`(a|b|[A-Z0-9a-z])*`}{
  for _,chunk:=range []int{4096,100}{
  s:=NewSet(0); s.Add(1,compile(t,src,"m"),Options{})
  st:=time.Now(); var worst time.Duration; hits:=0; var rem error
  for o:=b64;len(o)>0;{ n:=min(chunk,len(o)); t0:=time.Now(); for _,h:=range s.Feed(o[:n]){hits++; if h.Removed!=nil{rem=h.Removed}}; worst=max(worst,time.Since(t0)); o=o[n:]}
  d:=time.Since(st)
  fmt.Printf("%-24s chunk %5d %8.2f MB/s worst %v hits %d removed=%v win=%d\n",src,chunk,float64(len(b64))/1e6/d.Seconds(),worst,hits,rem,cap(s.plain.text))
 }}
}
