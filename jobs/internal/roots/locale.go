package roots

import "strings"

// A shell decodes a line according to its locale. In GBK, Big5 and Shift JIS a backslash or a backquote can be the
// second byte of a character, so that a quote ends elsewhere than in this package, which reads everything as UTF-8.

var localeNames = []string{"LC_ALL", "LC_CTYPE", "LANG"}

// LocaleOf returns the locale for characters in an environment of NAME=value; "" = none.
func LocaleOf(env []string) string {
	for _, name := range localeNames {
		locale := ""
		for _, entry := range env {
			if value, is := strings.CutPrefix(entry, name+"="); is {
				locale = value
			}
		}
		if locale != "" {
			return locale
		}
	}
	return ""
}

// keepsASCII reports whether no ASCII byte can be a part of another character in a locale. If the name contains no
// character set, that is unknown.
func keepsASCII(locale string) bool {
	if locale == "" || locale == "C" || locale == "POSIX" {
		return true
	}
	_, charset, _ := strings.Cut(locale, ".")
	charset, _, _ = strings.Cut(charset, "@")
	charset = strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(charset))
	return charset == "utf8" || strings.HasPrefix(charset, "iso8859")
}

// misread returns why the shell may read some texts differently, in its locale or in one that the line sets, or "".
func (v *values) misread(locale string, texts ...string) string {
	if keepsASCII(locale) && !v.locale || isASCII(strings.Join(texts, "")) {
		return ""
	}
	return "the shell may read its characters differently in the locale that is set for it"
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return c > 0x7f }) < 0
}
