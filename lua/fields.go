package lua

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// errForm is what is wrong with a text that no script has written.
var errForm = errors.New("not written by this version of the scripts")

// counts, state and member are the names of what the scripts keep in one text, in their order: see budget.lua. A name left out is "".
func counts() []string { return strings.Fields("last edge issued skipped nx standby") }

func state() []string {
	return strings.Fields("phase id w n at stop left shift horizon ttl qmax reach grown phi away thin " +
		"beyond permitfor deadman started heard stood version")
}

func member() []string {
	return strings.Fields("inc state seq weight v gen share leased beyond at rtt shift phi from rank")
}

// Budget is a run's budget by the names of its fields, of the hash in which the scripts keep it. Generations are not among them.
func Budget(hash map[string]string) (map[string]string, error) {
	fields := maps.Clone(hash)
	for name, names := range map[string][]string{"counts": counts(), "state": state()} {
		if hash[name] == "" {
			continue
		}
		if err := spread(fields, names, hash[name]); err != nil {
			return nil, fmt.Errorf("budget field %s: %w", name, err)
		}
		delete(fields, name)
	}
	return fields, nil
}

// Member is a member's record by the names of its fields.
func Member(record string) (map[string]string, error) {
	fields := map[string]string{}
	text, _, _ := strings.Cut(record, " ") // its last reply follows
	return fields, spread(fields, member(), text)
}

// spread puts the first values of a JSON array under their names.
func spread(fields map[string]string, names []string, text string) error {
	var values []json.RawMessage
	if err := json.Unmarshal([]byte(text), &values); err != nil || len(values) < len(names) {
		return errForm
	}
	for i, name := range names {
		fields[name] = strings.Trim(string(values[i]), `"`) // no string in them has anything to escape
	}
	return nil
}
