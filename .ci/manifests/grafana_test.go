package manifests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

const grafanaFile = "examples/grafana/compose.yaml"

// TestGrafanaCompose: Compose accepts the file, and what it mounts exists.
func TestGrafanaCompose(t *testing.T) {
	good := read(t, grafanaFile)
	if err := checkGrafana(good); err != nil {
		t.Error(err)
	}
	refuses(t, good, checkGrafana, []mistake{
		{grafanaFile, "volumes:", "volume:", "volume"},
		{grafanaFile, "prom/prometheus:v3.5.0", "prom/prometheus:latest", "no version"},
		{grafanaFile, "./loadctl.json:", "./dashboard.json:", "dashboard.json"},
		{grafanaFile, "--enable-feature=native-histograms", "--enable-feature=none", "no native histograms"},
		{grafanaFile, "=127.0.0.1:9090", "=:9090", "other machines"},
		{grafanaFile, "GF_SERVER_HTTP_ADDR: 127.0.0.1", "GF_SERVER_HTTP_ADDR: 0.0.0.0", "other machines"},
	})
}

func checkGrafana(f files) error {
	dir, err := filepath.Abs(filepath.Join(root, filepath.Dir(grafanaFile)))
	if err != nil {
		return err
	}
	p, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir: dir, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "compose.yaml"), Content: []byte(f[grafanaFile])}},
	})
	if err != nil {
		return err
	}
	var wrong []error
	for name, s := range p.Services {
		if !regexp.MustCompile(`:v?\d+\.\d+\.\d+$`).MatchString(s.Image) {
			wrong = append(wrong, fmt.Errorf("%s: image %s has no version", name, s.Image))
		}
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); err != nil {
				wrong = append(wrong, err)
			}
		}
	}
	prometheus, grafana := p.Services["prometheus"], p.Services["grafana"]
	if !slices.Contains(prometheus.Command, "--enable-feature=native-histograms") {
		wrong = append(wrong, errors.New("prometheus takes no native histograms"))
	}
	to := grafana.Environment["GF_SERVER_HTTP_ADDR"]
	if to == nil || *to != "127.0.0.1" || !strings.Contains(strings.Join(prometheus.Command, " "), "--web.listen-address=127.0.0.1:") {
		wrong = append(wrong, errors.New("other machines can reach it"))
	}
	return errors.Join(wrong...)
}
