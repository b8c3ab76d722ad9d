package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/probe"
	"github.com/loadctl/loadctl/targets/status"
)

// patience bounds each question to a server.
const patience = 5 * time.Second

// Fields of ServerReflectionRequest and ServerReflectionResponse, in all versions of the service.
const (
	askFile     = 3 // a file by its name
	askSymbol   = 4 // the file that declares a name
	askServices = 7
	saysFiles   = 4
	saysList    = 6
	saysError   = 7
)

// errSilent says that a server does not say what it offers.
var errSilent = errors.New("the server does not tell what it offers (reflection); give --proto FILE")

// reflection asks each server for the services that are called there.
func reflection(ctx context.Context, spec targets.Spec, local targets.Local, all *known) error {
	asked := map[string]bool{}
	for _, called := range spec.Methods() {
		service, _, err := grpc.SplitPath(called.Path)
		if err != nil {
			return fmt.Errorf("url: %w", err)
		}
		u, err := url.Parse(called.URL)
		if err != nil {
			return errors.New("url: is not a URL")
		}
		if place := u.Scheme + "//" + u.Host + " " + service; asked[place] {
			continue
		} else {
			asked[place] = true
		}
		if err := newServer(ctx, spec, local, u).describe(service, all); err != nil {
			return fmt.Errorf("describe %s: %w", u.Host, err)
		}
	}
	return nil
}

// A server is asked what it offers.
type server struct {
	ctx     context.Context
	spec    targets.Spec
	local   targets.Local
	url     url.URL
	version string // of the service that answers; "" = not known yet
}

// newServer returns that of a URL, with what the spec says about connections. Headers with placeholders are left out.
func newServer(ctx context.Context, spec targets.Spec, local targets.Local, u *url.URL) *server {
	s := &server{ctx: ctx, local: local, url: *u}
	s.spec = targets.Spec{
		ConnectTo: spec.ConnectTo, UnixSocket: spec.UnixSocket, Insecure: spec.Insecure, CA: spec.CA,
		Timeout: patience, BodyLimit: mostBytes,
	}
	if strings.HasPrefix(spec.Auth, targets.AuthBasic+":") && !strings.HasPrefix(spec.Auth, targets.AuthBasic+":@") {
		s.spec.Auth = spec.Auth
	}
	for _, h := range spec.Headers {
		if !strings.Contains(h.Value, "${") {
			s.spec.Headers = append(s.spec.Headers, h)
		}
	}
	return s
}

// describe adds the file of a service, and all that it imports.
func (s *server) describe(service string, all *known) error {
	files, err := s.ask(askSymbol, service)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		names, err := s.services()
		if err != nil {
			return err
		}
		if slices.Contains(names, service) {
			return fmt.Errorf("the server does not tell what service %s has; give --proto FILE", service)
		}
		return grpc.NoService(service, names)
	}
	for asked := ""; ; {
		for _, file := range files {
			if _, err := all.add(file); err != nil {
				return err
			}
		}
		name := all.missing()
		switch name {
		case "":
			return nil
		case asked: // the answer was another file, or none
			return fmt.Errorf("the server does not tell what %.200s has; give --proto FILE", name)
		}
		if files, err = s.ask(askFile, name); err != nil {
			return err
		}
		asked = name
	}
}

// ask returns the files of an answer; none if the server knows none.
func (s *server) ask(field protowire.Number, name string) (files [][]byte, err error) {
	answer, err := s.question(protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), name))
	if err != nil {
		return nil, err
	}
	err = each(answer, saysFiles, func(response []byte) error {
		return each(response, 1, func(file []byte) error {
			files = append(files, file)
			return nil
		})
	})
	return files, err
}

// services returns the names of all services, but that of reflection itself.
func (s *server) services() (names []string, err error) {
	answer, err := s.question(protowire.AppendString(protowire.AppendTag(nil, askServices, protowire.BytesType), "*"))
	if err != nil {
		return nil, err
	}
	err = each(answer, saysList, func(list []byte) error {
		return each(list, 1, func(service []byte) error {
			return each(service, 1, func(name []byte) error {
				if !strings.HasPrefix(string(name), "grpc.reflection.") {
					names = append(names, string(name))
				}
				return nil
			})
		})
	})
	return names, err
}

// question asks the newest version of the service that the server has.
func (s *server) question(request []byte) ([]byte, error) {
	for _, version := range []string{"v1", "v1alpha"} {
		if s.version != "" && s.version != version {
			continue
		}
		u := s.url
		u.Path = "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo"
		s.spec.URL = u.String()
		answer, n, err := probe.GRPC(s.ctx, s.spec, s.local, request)
		switch name := status.Name(n); {
		case err != nil:
			return nil, fmt.Errorf("%w; %s", err, mend(err, s.spec.URL))
		case name == "OK":
			s.version = version
			return answer, nil
		case name != "UNIMPLEMENTED" && name != "NOT_FOUND":
			return nil, fmt.Errorf("the server answers %s to the question what it offers; give --proto FILE", name)
		}
	}
	return nil, errSilent
}

// mend says what to do about a server that cannot be asked.
func mend(err error, url string) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "start the server, or give --proto FILE"
	}
	return cmp.Or(probe.Advise(err, url), "check --url, the port, and the scheme: grpc or grpcs")
}

// each calls f with each field of a number that holds bytes.
func each(message []byte, number protowire.Number, f func(value []byte) error) error {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return errors.New("the server's description of itself is damaged; give --proto FILE")
		}
		message = message[size:]
		if size = protowire.ConsumeFieldValue(n, kind, message); size < 0 {
			return errors.New("the server's description of itself is damaged; give --proto FILE")
		}
		if n == number && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			if err := f(value); err != nil {
				return err
			}
		}
		message = message[size:]
	}
	return nil
}
