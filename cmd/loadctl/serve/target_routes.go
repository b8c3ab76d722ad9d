package serve

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/loadctl/loadctl/internal/server/site"
	"github.com/loadctl/loadctl/pacer"
)

// Bounds of what may be repeated: each connection may have a record of each route, and each --unique keeps its values.
const (
	mostRoutes = 100
	mostUnique = 8
)

// routes are the values of --route.
type routes []site.Route

// String implements pflag.Value.
func (r *routes) String() string {
	var all []string
	for _, route := range *r {
		all = append(all, route.Pattern)
	}
	return strings.Join(all, ",")
}

// Type implements pflag.Value.
func (r *routes) Type() string { return "route" }

// Set implements pflag.Value. It adds a route. Whether its pattern is right, site.New knows.
func (r *routes) Set(text string) error {
	route, err := parseRoute(text)
	if err == nil && len(*r) == mostRoutes {
		err = fmt.Errorf("give at most %d routes", mostRoutes)
	}
	if err != nil {
		return fmt.Errorf("%.60q: %w", text, err)
	}
	*r = append(*r, route)
	return nil
}

// routeForm says how a route is written.
const routeForm = `write PATTERN=SETTINGS, such as '/slow/*=latency=50ms,status=503'`

func parseRoute(text string) (site.Route, error) {
	pattern, settings, _ := strings.Cut(text, "=")
	route := site.Route{Pattern: strings.Join(strings.Fields(pattern), " ")}
	if route.Pattern == "" || settings == "" {
		return route, errors.New(routeForm)
	}
	if strings.ContainsFunc(pattern, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return route, errors.New("use printable characters in a pattern")
	}
	given := map[string]bool{}
	for more := true; more; {
		var setting string
		if setting, settings, more = strings.Cut(settings, ","); strings.HasPrefix(setting, "body=") && more {
			setting, more = setting+","+settings, false // the body is the rest
		}
		name, value, _ := strings.Cut(setting, "=")
		if given[name] && name != "stall" {
			return route, fmt.Errorf("%.20s is given twice; leave one out", name)
		}
		given[name] = true
		if err := setRoute(&route, name, value); err != nil {
			return route, err
		}
	}
	return route, route.Check()
}

// setRoute sets one setting of a route.
func setRoute(route *site.Route, name, value string) (err error) {
	switch name {
	case "latency":
		route.Latency, err = wait(name, value)
	case "jitter":
		route.Jitter, err = wait(name, value)
	case "status":
		if route.Status, err = strconv.Atoi(value); err != nil || route.Status < 200 || route.Status > 599 {
			err = fmt.Errorf("status=%.20s: give a status from 200 to 599", value)
		}
	case "stall":
		var s stalls
		if err = s.Set(value); err != nil {
			return fmt.Errorf("stall=%w", err)
		}
		route.Stalls = append(route.Stalls, site.Stall(s[0]))
	case "body":
		if route.Body = value; value == "" {
			err = errors.New("body= has no text; write body=TEXT as the last setting, or leave it out")
		} else if last := value[strings.LastIndexByte(value, ',')+1:]; isSetting(last) {
			err = fmt.Errorf("the body has the rest of the text; write %.40s before body=", last)
		}
	default:
		err = fmt.Errorf("there is no setting %.20q; use latency, jitter, status, stall and body", name)
	}
	return err
}

// isSetting tells whether a text is a setting other than body.
func isSetting(text string) bool {
	name, value, ok := strings.Cut(text, "=")
	return ok && name != "body" && setRoute(new(site.Route), name, value) == nil
}

// wait reads how long answers wait.
func wait(name, value string) (time.Duration, error) {
	d, err := pacer.ParseDuration(value)
	if err != nil || d > longestWait {
		return 0, fmt.Errorf("%s=%.20s: give a duration such as 50ms, at most 365d", name, value)
	}
	return d, nil
}

// uniques are the values of --unique.
type uniques struct{ list []*site.Unique }

// String implements pflag.Value.
func (u *uniques) String() string {
	var all []string
	for _, unique := range u.list {
		all = append(all, unique.Counted().Of)
	}
	return strings.Join(all, ",")
}

// Type implements pflag.Value.
func (u *uniques) Type() string { return "what" }

// Set implements pflag.Value. It adds one thing to count.
func (u *uniques) Set(text string) error {
	unique, err := site.ParseUnique(text)
	if err != nil {
		return err
	}
	of := unique.Counted().Of
	if slices.ContainsFunc(u.list, func(o *site.Unique) bool { return o.Counted().Of == of }) {
		return fmt.Errorf("%.60q: is given twice; leave one out", of)
	}
	if len(u.list) == mostUnique {
		return fmt.Errorf("%.60q: give at most %d", of, mostUnique)
	}
	u.list = append(u.list, unique)
	return nil
}
