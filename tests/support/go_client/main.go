// A client of Flyte's API by grpc-go, as flytectl is one:
//
//	client ADDRESS
//
// Each line of stdin is a call, its service and method, the types of its request and its response,
// and the request as JSON; each line of stdout says how it ended, also as JSON: its code, the words,
// and the response. The types are those that protoc has made of schemas/flyteidl/ in stubs/, by
// which integration/test_api_go.py builds this program.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "troupe/client/stubs/admin"
	_ "troupe/client/stubs/core"
	_ "troupe/client/stubs/event"
	_ "troupe/client/stubs/service"
)

const (
	limit        = 60 * time.Second
	lineBytesMax = 16 << 20
)

type outcome struct {
	Code     string          `json:"code"`
	Words    string          `json:"words"`
	Response json.RawMessage `json:"response"`
}

func newMessage(name string) (proto.Message, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return kind.New().Interface(), nil
}

// call makes the call of one line.
func call(connection *grpc.ClientConn, line string) (outcome, error) {
	words := strings.SplitN(line, " ", 5)
	if len(words) != 5 {
		return outcome{}, fmt.Errorf("no call: %s", line)
	}
	request, err := newMessage(words[2])
	if err != nil {
		return outcome{}, err
	}
	response, err := newMessage(words[3])
	if err != nil {
		return outcome{}, err
	}
	if err := protojson.Unmarshal([]byte(words[4]), request); err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ended := status.Convert(connection.Invoke(ctx, "/"+words[0]+"/"+words[1], request, response))
	form := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}
	text, err := form.Marshal(response)
	return outcome{ended.Code().String(), ended.Message(), text}, err
}

func run(address string) error {
	connection, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, lineBytesMax)
	for lines.Scan() {
		found, err := call(connection, lines.Text())
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
			return err
		}
	}
	return lines.Err()
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: client ADDRESS")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
