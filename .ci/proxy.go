//go:build ignore

// Proxy writes the modules of the checkout into a folder, in the layout of a module
// proxy, so that they can be required as they will be when they are released:
//
//	go run .ci/proxy.go FOLDER VERSION
//
// What is in the folder is what git tracks. A module that requires another one of the
// checkout requires VERSION of it there, and replaces nothing. It prints the path of
// each module.
package main

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fail("usage: go run .ci/proxy.go FOLDER VERSION")
	}
	files := tracked()
	var folders []string // of the modules
	for _, f := range files {
		if path.Base(f) == "go.mod" && !strings.Contains(f, "testdata/") {
			folders = append(folders, path.Dir(f))
		}
	}
	if len(folders) == 0 {
		fail("no go.mod is tracked here")
	}
	paths := make(map[string]string)
	for _, folder := range folders {
		paths[folder] = modulePath(folder)
	}
	for _, folder := range folders {
		write(os.Args[1], os.Args[2], folder, paths, files)
		fmt.Println(paths[folder])
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "proxy: "+format+"\n", args...)
	os.Exit(1)
}

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

// tracked returns the files of the checkout, by slashes.
func tracked() []string {
	// A checkout that belongs to somebody else will do.
	out, err := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z").Output()
	must(err)
	files := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	return slices.DeleteFunc(files, func(f string) bool {
		info, err := os.Stat(filepath.FromSlash(f))
		return err != nil || !info.Mode().IsRegular()
	})
}

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

func modulePath(folder string) string {
	mod, err := os.ReadFile(filepath.Join(filepath.FromSlash(folder), "go.mod"))
	must(err)
	found := moduleLine.FindSubmatch(mod)
	if found == nil {
		fail("%s/go.mod has no module line", folder)
	}
	return string(found[1])
}

// write writes one module: its list, its go.mod and its zip.
func write(root, version, folder string, paths map[string]string, files []string) {
	module := paths[folder]
	dir := filepath.Join(root, filepath.FromSlash(module), "@v")
	must(os.MkdirAll(dir, 0o755))
	mod := released(folder, version, paths)
	must(os.WriteFile(filepath.Join(dir, "list"), []byte(version+"\n"), 0o644))
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, time.Now().UTC().Format(time.RFC3339))
	must(os.WriteFile(filepath.Join(dir, version+".info"), []byte(info), 0o644))
	must(os.WriteFile(filepath.Join(dir, version+".mod"), mod, 0o644))

	out, err := os.Create(filepath.Join(dir, version+".zip"))
	must(err)
	z := zip.NewWriter(out)
	for _, f := range files {
		name, inside := strings.CutPrefix(f, folder+"/")
		if folder == "." {
			name, inside = f, true
		}
		if !inside || ofInner(f, folder, paths) {
			continue
		}
		data := mod
		if name != "go.mod" {
			data, err = os.ReadFile(filepath.FromSlash(f))
			must(err)
		}
		w, err := z.Create(module + "@" + version + "/" + name)
		must(err)
		_, err = w.Write(data)
		must(err)
	}
	must(z.Close())
	must(out.Close())
}

// ofInner says whether a file belongs to a module inside the folder.
func ofInner(file, folder string, paths map[string]string) bool {
	for inner := range paths {
		if inner != folder && len(inner) > len(folder) && strings.HasPrefix(file, inner+"/") {
			return true
		}
	}
	return false
}

// released returns the go.mod of a module as it is released.
func released(folder, version string, paths map[string]string) []byte {
	scratch, err := os.MkdirTemp("", "proxy")
	must(err)
	defer os.RemoveAll(scratch)
	mod, err := os.ReadFile(filepath.Join(filepath.FromSlash(folder), "go.mod"))
	must(err)
	file := filepath.Join(scratch, "go.mod")
	must(os.WriteFile(file, mod, 0o644))
	for _, other := range paths {
		if other == paths[folder] || !regexp.MustCompile(`(?m)\b`+regexp.QuoteMeta(other)+` v`).Match(mod) {
			continue
		}
		cmd := exec.Command("go", "mod", "edit", "-dropreplace", other, "-require", other+"@"+version, file)
		cmd.Stderr = os.Stderr
		must(cmd.Run())
	}
	mod, err = os.ReadFile(file)
	must(err)
	return mod
}
