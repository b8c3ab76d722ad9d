// Command customworker is loadworker with one more scheme: mqtt://HOST[:PORT]/TOPIC publishes the body at a broker, with
// QoS 1. A request has succeeded when the broker has acknowledged its message.
//
//	customworker run --url 'mqtt://127.0.0.1/sensors/${ordinal}' -d '{"value": ${random 0 100}}' --qps 500 --duration 10s
package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/loadworker"
)

func main() { os.Exit(loadworker.Main(scheme())) }

func scheme() targets.Scheme {
	return targets.Scheme{Name: "mqtt", Version: "1", Port: "1883", Bare: true, Check: check, Open: open, Reach: reach}
}

// check refuses what a publication cannot be.
func check(s targets.Spec) error {
	_, u, err := s.ParseURL()
	for name, value := range s.Settings {
		if name != "retain" || value != "true" && value != "false" {
			err = errors.New("set: mqtt knows retain=true and retain=false; leave others out")
		}
	}
	if err == nil && (strings.Trim(u.Path, "/") == "" || strings.ContainsAny(u.Path, "+#")) {
		err = errors.New("url: names no topic; write mqtt://HOST/TOPIC, without + and #")
	}
	return err
}

func open(s targets.Spec, l targets.Local) (targets.Sender, error) {
	return &sender{retain: s.Settings["retain"] == "true", idle: make(chan *conn, max(1, l.MaxConnections))}, nil
}

func reach(ctx context.Context, r targets.Request, _ targets.Spec, _ targets.Local) error {
	c, err := dial(ctx, r)
	if err == nil {
		err = c.Close()
	}
	return err
}
