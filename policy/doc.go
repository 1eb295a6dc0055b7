// Package policy has ready-made policies for the hooks of agent loops.
package policy
