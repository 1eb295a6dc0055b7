package policy

// Judging URLs and addresses.

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// urlRules are what one URLs allows.
type urlRules struct {
	names    []string // in lower case
	suffixes []string // ".example.com" for *.example.com
	schemes  []string
	ports    []uint16
	private  []netip.Prefix
}

// rules checks u and returns what it allows. It panics for what can't be meant.
func (u URLs) rules() *urlRules {
	if len(u.Hosts) == 0 {
		panic("policy: URLs needs Hosts; name those that may be reached")
	}
	r := &urlRules{schemes: []string{"https"}, ports: []uint16{443}, private: slices.Clone(u.Private)}
	for _, host := range u.Hosts {
		r.addHost(host)
	}
	if u.Schemes != nil {
		r.schemes = nil
		for _, scheme := range u.Schemes {
			scheme = strings.ToLower(scheme)
			if scheme != "http" && scheme != "https" {
				panic(fmt.Sprintf(`policy: URLs: Schemes has %q; there are "https" and "http"`, scheme))
			}
			r.schemes = append(r.schemes, scheme)
		}
	}
	if slices.Contains(r.schemes, "http") {
		r.ports = append(r.ports, 80)
	}
	if u.Ports != nil {
		r.ports = slices.Clone(u.Ports)
	}
	switch {
	case len(r.schemes) == 0:
		panic("policy: URLs: Schemes is empty, and nothing could be reached; leave it out for https")
	case len(r.ports) == 0:
		panic("policy: URLs: Ports is empty, and nothing could be reached; leave it out for those that are usual")
	case slices.Contains(r.ports, 0):
		panic("policy: URLs: Ports has 0, which is no port")
	}
	for _, prefix := range r.private {
		if !prefix.IsValid() || prefix.Addr().Is4In6() {
			panic(fmt.Sprintf("policy: URLs: Private has %v; give a valid prefix, and those of IPv4 as IPv4", prefix))
		}
	}
	return r
}

// addHost adds an entry of Hosts.
func (r *urlRules) addHost(entry string) {
	host := lowerHost(entry)
	addr, err := netip.ParseAddr(host)
	name, wild := strings.CutPrefix(host, "*.")
	switch {
	case err == nil && addr.Zone() == "":
		r.names = append(r.names, host)
	case !plainHost(name):
		panic(fmt.Sprintf("policy: URLs: Hosts has %q; give a host name in ASCII, *. and one, or an address, without scheme, port, path and brackets", entry))
	case wild:
		r.suffixes = append(r.suffixes, "."+name)
	default:
		r.names = append(r.names, name)
	}
}

// What a URL must do, behind the name of its argument.
var (
	errURLText = errors.New("be an absolute URL, without backslashes and control characters")
	errURLUser = errors.New("have no user name and no password")
	errURLForm = errors.New("name its host by ASCII letters, digits, - and ., and end it in no dot and no number")
	errURLHost = errors.New("have a host that is allowed in this run")
	errURLPort = errors.New("have a port that is allowed in this run")
	errURLAddr = errors.New("have a host that is public")
)

// judgeText judges a URL as it is written. Its error completes "must".
func (r *urlRules) judgeText(text string) error {
	if !utf8.ValidString(text) || strings.Contains(text, `\`) || strings.ContainsFunc(text, unicode.IsControl) {
		return errURLText
	}
	u, err := url.Parse(text)
	if err != nil {
		return errURLText // the parser's own text quotes the URL
	}
	return r.judge(u)
}

// judge judges a URL that has been read. Its error completes "must".
func (r *urlRules) judge(u *url.URL) error {
	host := lowerHost(u.Hostname())
	switch {
	case u.Opaque != "", host == "" || u.Scheme == "":
		return errURLText
	case !slices.Contains(r.schemes, u.Scheme):
		return fmt.Errorf("begin with %s://", strings.Join(r.schemes, ":// or "))
	case u.User != nil:
		return errURLUser
	}
	addr, err := netip.ParseAddr(host)
	literal := err == nil
	switch {
	case addr.Zone() != "", !literal && !plainHost(host),
		strings.HasPrefix(u.Host, "[") != (literal && !addr.Is4()): // what other clients make of other brackets
		return errURLForm
	case !r.allowsHost(host, literal):
		return errURLHost
	case !r.allowsPort(u):
		return errURLPort
	case literal && !r.allowsAddr(addr):
		return errURLAddr
	}
	return nil
}

func (r *urlRules) allowsHost(host string, literal bool) bool {
	return slices.Contains(r.names, host) || !literal && slices.ContainsFunc(r.suffixes, func(suffix string) bool {
		return strings.HasSuffix(host, suffix)
	})
}

func (r *urlRules) allowsPort(u *url.URL) bool {
	text := u.Port()
	switch {
	case text == "" && u.Scheme == "http":
		text = "80"
	case text == "":
		text = "443"
	}
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && slices.Contains(r.ports, uint16(port))
}

// lowerHost returns host with its ASCII letters in lower case. Others stay, so that they
// are seen: some, such as the Kelvin sign, have one of ASCII as their lower case.
func lowerHost(host string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + ('a' - 'A')
		}
		return c
	}, host)
}

// plainHost says whether host, in lower case, is a name that all clients read alike.
func plainHost(host string) bool {
	last := ""
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.ContainsFunc(label, func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_'
		}) {
			return false
		}
		last = label
	}
	return !isNumber(last)
}

// isNumber says whether the last label of a name makes clients read an IPv4 address:
// in digits, of any base, or in hexadecimal ones behind 0x.
func isNumber(label string) bool {
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		label, digits = hex, "0123456789abcdef"
	}
	return strings.Trim(label, digits) == ""
}

// Networks that aren't public, beside those that package netip tells of.
var (
	notPublic = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "::ffff:0:0:0/96", "100::/64", "2001::/32", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10", "64:ff9b:1::/48")
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // an IPv4 address in the last four bytes
	sixTo4 = netip.MustParsePrefix("2002::/16")    // one behind the first two
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// allowsAddr says whether addr may be connected to: it is public or among Private.
func (r *urlRules) allowsAddr(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	covers := func(p netip.Prefix) bool { return p.Contains(addr) }
	bytes := addr.As16()
	switch {
	case slices.ContainsFunc(r.private, covers):
		return true
	case nat64.Contains(addr):
		return r.allowsAddr(netip.AddrFrom4([4]byte(bytes[12:])))
	case sixTo4.Contains(addr):
		return r.allowsAddr(netip.AddrFrom4([4]byte(bytes[2:6])))
	}
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !slices.ContainsFunc(notPublic, covers)
}
