// Package recipes holds short examples of what programs do with hooks, to be
// copied. Each is checked, and the README beside them says which does what.
package recipes
