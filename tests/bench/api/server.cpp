/*
 * The smallest server of gRPC in C++: each call is answered with 600 bytes, which is what an
 * execution has. Prints its port, and serves until stdin ends.
 */
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <string>

namespace {

const std::string answer = std::string("\x1a\xd5\x04", 3) + std::string(597, 'x');

class Reactor : public grpc::ServerGenericBidiReactor {
public:
    Reactor()
    {
        StartRead(&request_);
    }

    void OnReadDone(bool is_there) override
    {
        if (!is_there) {
            Finish(grpc::Status::CANCELLED);
            return;
        }
        grpc::Slice slice(answer.data(), answer.size(), grpc::Slice::STATIC_SLICE);
        answer_ = grpc::ByteBuffer(&slice, 1);
        StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
    }

    void OnDone() override
    {
        delete this;
    }

private:
    grpc::ByteBuffer request_;
    grpc::ByteBuffer answer_;
};

class Service : public grpc::CallbackGenericService {
    grpc::ServerGenericBidiReactor *CreateReactor(grpc::GenericCallbackServerContext *) override
    {
        return new Reactor;
    }
};

} // namespace

int main()
{
    Service service;
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&service);
    std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    std::cout << port << std::endl;
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    server->Shutdown();
    return 0;
}
