// Package session keeps a server alive when its client goes: it finds, starts and lists the hosts of sessions, and hands
// the descriptors of clients over to them.
//
//	client ⇄ (the front's stdin and stdout, handed over) ⇄ host
//	  └ starts ─ front ── link ──┘
//
// A client starts a front as it would start a server. The front finds or starts the host of the session, a detached
// process, and sends it its own stdin and stdout. From then on client and host speak to each other with no process
// between them, and the front keeps only the link.
//
// # Files
//
//	<state directory>/hosts/NAME/lock       locked by the host as long as it lives, whatever ends it
//	                             starting   locked by the front that starts a host until it is ready; others wait for it
//	                             socket     of the host
//	                             host.json  a description of the host; nothing depends on it
//	                             host.log   stderr of the host; host.log.1 is the part before
//	                             claim-…    of a client, locked by it; see Claim
//
// Only their owner has access (0700, 0600), and package safedir judges the way there. The lock is passed from the front
// to the host it starts, so that there is no moment between at which another front finds it free.
//
// # Handing over
//
// Each connection begins with one line from the front. It may come from another version of shelld than the host, so this
// part never changes:
//
//	{"shelld":"attach","v":1,"client":{"pid":4711,"name":"nvim"}}   with two descriptors, stdin and stdout (SCM_RIGHTS)
//	{"shelld":"status","v":1}
//	{"shelld":"end","v":1}
//
// The host answers with one line, {"ok":true} or {"error":KIND,"message":TEXT}; a status has a member "status". After an
// attach the connection is the link: the front sends {"signal":"TERM"}, the host {"exit":STATUS}. If the link ends, the
// host closes the client's descriptors at once.
package session
