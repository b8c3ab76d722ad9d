package shop

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/internal/server/site"
)

// mostPolls bounds how often a job is running when it is asked.
const mostPolls = 100

// create begins a job, which is done after so many questions about its state.
func (s *shop) create(_ *http.Request, body []byte) site.Reply {
	wanted := struct {
		Polls int `json:"polls"`
	}{3}
	if len(body) > 0 && json.Unmarshal(body, &wanted) != nil || wanted.Polls < 0 || wanted.Polls > mostPolls {
		return refuse(http.StatusBadRequest, `send a JSON object with the number of questions until the job is done, 0 to 100: {"polls": 3}`)
	}
	return answer(http.StatusCreated, object{"id": s.token(strconv.Itoa(wanted.Polls), s.logins.Add(1)), "state": "running"})
}

// job returns the id in a path, and how often that job is running when it is asked; false if there is no such job.
func (s *shop) job(r *http.Request) (id string, polls int, found bool) {
	id, _, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/jobs/"), "/")
	polls, err := strconv.Atoi(s.user(id)) // the user of its token
	return id, polls, err == nil
}

// state answers whether a job is done.
func (s *shop) state(r *http.Request, _ []byte) site.Reply {
	id, polls, found := s.job(r)
	if !found {
		return refuse(http.StatusNotFound, "there is no such job; POST /jobs begins one")
	}
	for i := range polls {
		if !s.polled.Add(id + "#" + strconv.Itoa(i)) {
			return answer(http.StatusOK, object{"id": id, "state": "running"})
		}
	}
	return answer(http.StatusOK, object{"id": id, "state": "done"})
}

// result answers what a job that is done has made.
func (s *shop) result(r *http.Request, _ []byte) site.Reply {
	id, polls, found := s.job(r)
	switch {
	case !found:
		return refuse(http.StatusNotFound, "there is no such job; POST /jobs begins one")
	case polls > 0 && !s.polled.Has(id+"#"+strconv.Itoa(polls-1)):
		return refuse(http.StatusConflict, "the job is not done; ask for its state until it is")
	}
	return answer(http.StatusOK, object{"id": id, "total": price(strconv.Itoa(polls))})
}
