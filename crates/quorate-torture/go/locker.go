// A client that locks with etcd's Go package. A worker of the torture tests sends commands, one per line:
//
//	lock NAME MILLISECONDS   is answered with "granted TOKEN", "timeout" or "failed WHY"
//	unlock                   is answered with "unlocked" or "failed WHY"
//
// It prints "session" first, and "done" as soon as the package reports the end of the session. It ends with its input.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

// Timeout of a call that does not wait for other clients.
const patience = time.Second

var out sync.Mutex

func say(format string, words ...interface{}) {
	out.Lock()
	defer out.Unlock()
	// A single line, even if an error contains newlines.
	line := strings.ReplaceAll(fmt.Sprintf(format, words...), "\n", " ")
	fmt.Fprintln(os.Stdout, line)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "locker:", err)
	os.Exit(1)
}

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: locker ENDPOINTS TTL"))
	}
	ttl, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fail(err)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: strings.Split(os.Args[1], ","),
		// A new session counts as valid for this long plus a second, until its first keep-alive is answered.
		DialTimeout: time.Second,
		// gRPC pings a silent server after 10 s at the earliest, whatever is configured.
		DialKeepAliveTime:    time.Second,
		DialKeepAliveTimeout: time.Second,
	})
	if err != nil {
		fail(err)
	}
	session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	if err != nil {
		fail(err)
	}
	say("session")
	go func() {
		<-session.Done()
		say("done")
	}()
	var mutex *concurrency.Mutex
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 3 && words[0] == "lock":
			millis, err := strconv.Atoi(words[2])
			if err != nil {
				fail(err)
			}
			mutex = concurrency.NewMutex(session, words[1])
			lock(mutex, time.Duration(millis)*time.Millisecond)
		case len(words) == 1 && words[0] == "unlock" && mutex != nil:
			unlock(mutex)
		default:
			fail(fmt.Errorf("unknown request %q", lines.Text()))
		}
	}
}

func lock(mutex *concurrency.Mutex, wait time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	err := mutex.Lock(ctx)
	switch {
	case err == nil:
		say("granted %d", mutex.Header().Revision)
	// The package has deleted its key, and etcd has confirmed that.
	case ctx.Err() != nil && mutex.Key() == "\x00":
		say("timeout")
	default:
		say("failed %v", err)
	}
}

func unlock(mutex *concurrency.Mutex) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := mutex.Unlock(ctx); err != nil {
		say("failed %v", err)
		return
	}
	say("unlocked")
}
