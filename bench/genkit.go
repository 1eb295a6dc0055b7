package bench

// genkitRows has the description only: the module needs versions of shared
// dependencies that the other peers don't work with, so its benchmark lives in
// a module of its own, in the genkit folder.
func genkitRows() []Row {
	return []Row{{
		Group: Dispatch, Kind: Peer, Name: "genkit", Label: "genkit core.ChainMiddleware",
		Module: "github.com/firebase/genkit/go", Sizes: usualSizes,
		Features: Features{Abort: true, Change: true},
		Note:     "Composed once: no look-up. Each middleware calls the next one, and an empty function at the end.",
	}}
}
