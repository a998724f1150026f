/*
 * Any bytes as the header Authorization: they are nobody's token.
 */
#include "deploy/api/clients.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t key[TR_API_TOKEN_KEY_BYTES] = {7};
    static const struct tr_api_client client = {.id = "c", .secret_sha256 = {9}};
    static const struct tr_api_clients clients = {.items = &client, .count = 1, .key = key};
    struct tr_text text = {.data = (const char *)data, .size = size};
    struct tr_text bearer = tr_api_credentials(text, "Bearer");
    TR_ASSERT(tr_api_client_of_bearer(&clients, bearer, 5) == NULL);
    TR_ASSERT(tr_api_client_of_bearer(&clients, text, 5) == NULL);
    TR_ASSERT(tr_api_execution_of_bearer(&clients, bearer).size == 0);
    TR_ASSERT(tr_api_execution_of_bearer(&clients, text).size == 0);
    return 0;
}
