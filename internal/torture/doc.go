// Package torture holds tests alone: heavy ones, and those that need a process
// of their own.
//
// What a process has once switched on (scopes, observers, callers, nests) stays
// on for good, and changes the way that dispatches take. These tests start
// without the others', so that the shortest way is taken and counted too. They
// also look at the heap and the goroutines of the whole process, and load it
// until races show.
package torture
