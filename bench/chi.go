package bench

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"
)

var chiMiddleware = func(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "" {
			return
		}
		next.ServeHTTP(w, r)
	})
}

func chiRows() []Row {
	return []Row{{
		Group: Dispatch, Kind: Peer, Name: "chi", Label: "chi Chain",
		Module: "github.com/go-chi/chi/v5", Sizes: usualSizes,
		Features: Features{Abort: true, Change: true},
		Note:     "Composed once: no look-up. HTTP middlewares, each of which calls the next one, and an empty handler at the end.",
		hook:     &chiMiddleware,
		Run: func(b *testing.B, n int) {
			h := chi.Chain(repeat(n, chiMiddleware)...).Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		},
	}}
}
