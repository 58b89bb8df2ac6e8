// Reads requests as programs on Go's net/http do: JSON into structs, whose fields match keys of any case.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

type effort struct {
	Type      string   `json:"type,omitempty"`
	Effort    string   `json:"effort,omitempty"`
	Budget    *float64 `json:"budget_tokens,omitempty"`
	MaxTokens *float64 `json:"max_tokens,omitempty"`
}

type tool struct {
	Type     string   `json:"type,omitempty"`
	Name     string   `json:"name,omitempty"`
	Model    string   `json:"model,omitempty"`
	MaxUses  *float64 `json:"max_uses,omitempty"`
	Function *struct {
		Name string `json:"name,omitempty"`
	} `json:"function,omitempty"`
}

type message struct {
	Role    string `json:"role,omitempty"`
	Content any    `json:"content,omitempty"`
}

type call struct {
	Model               any       `json:"model,omitempty"`
	Models              any       `json:"models,omitempty"`
	N                   any       `json:"n,omitempty"`
	BestOf              any       `json:"best_of,omitempty"`
	MaxTokens           any       `json:"max_tokens,omitempty"`
	MaxCompletionTokens any       `json:"max_completion_tokens,omitempty"`
	MaxOutputTokens     any       `json:"max_output_tokens,omitempty"`
	Stream              any       `json:"stream,omitempty"`
	Background          any       `json:"background,omitempty"`
	Thinking            *effort   `json:"thinking,omitempty"`
	Reasoning           *effort   `json:"reasoning,omitempty"`
	Tools               []tool    `json:"tools,omitempty"`
	Messages            []message `json:"messages,omitempty"`
}

type found struct {
	Method string           `json:"method"`
	Path   string           `json:"path"`
	Route  *string          `json:"route"`
	Values map[string][]any `json:"values"`
	Tree   any              `json:"tree"`
	Typed  *call            `json:"typed,omitempty"`
}

func main() {
	folder := os.Args[1]
	var routes, fields []string
	read(filepath.Join(folder, "routes.json"), &routes)
	read(filepath.Join(folder, "fields.json"), &fields)
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.HandleFunc(route, reader(&route, fields))
	}
	mux.HandleFunc("/", reader(nil, fields))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("listening on %d\n", listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, mux))
}

func reader(route *string, fields []string) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		result := found{Method: request.Method, Path: request.URL.Path, Route: route, Values: map[string][]any{}}
		add := func(field string, value any) {
			if value != nil && value != "" {
				result.Values[field] = append(result.Values[field], value)
			}
		}
		if strings.Contains(strings.ToLower(request.Header.Get("Content-Type")), "form") {
			request.ParseMultipartForm(1 << 20)
			for _, field := range fields {
				add(field, request.FormValue(field))
				add(field, request.PostFormValue(field))
				add(field, fileOf(request, field))
			}
		} else if body, err := io.ReadAll(request.Body); err == nil {
			for _, field := range fields {
				add(field, request.URL.Query().Get(field))
			}
			// As most programs do, which leaves what follows the first value.
			if json.NewDecoder(bytes.NewReader(body)).Decode(&result.Tree) != nil {
				result.Tree = nil
			}
			if _, isObject := result.Tree.(map[string]any); isObject {
				var typed call
				if err := json.NewDecoder(bytes.NewReader(body)).Decode(&typed); err != nil {
					http.Error(response, err.Error(), http.StatusBadRequest)
					return
				}
				result.Typed = &typed
				var values map[string]any
				text, _ := json.Marshal(typed)
				json.Unmarshal(text, &values)
				for _, field := range fields {
					add(field, values[field])
				}
			}
		}
		json.NewEncoder(response).Encode(result)
	}
}

func fileOf(request *http.Request, field string) any {
	file, _, err := request.FormFile(field)
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(file)
	return string(text)
}

func read(path string, into any) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		panic(err)
	}
}
