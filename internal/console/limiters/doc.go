// Package limiters describes each limiter: the table of `loadctl limiters`. The table holds facts, each verified by a
// test. lab/limiters measures them with traffic.
package limiters
