/*
 * Which cards there are, and where the resources of one are found.
 */
#include "plugins/cards/cards.h"

struct tr_bytes tri_card_member(struct tr_bytes map, struct tr_text name)
{
    struct tr_json_walk walk = tr_json_walk(map);
    while (tr_json_type(map) == TR_CODEC_MAP && tr_json_next(&walk)) {
        if (tr_text_equal(walk.name, name)) {
            return walk.value;
        }
    }
    return (struct tr_bytes){0};
}

bool tri_card_is_there(struct tr_bytes value)
{
    enum tr_codec_type type = tr_json_type(value);
    return type != TR_CODEC_NONE && type != TR_CODEC_NIL &&
           (type != TR_CODEC_TEXT || tr_json_text(value).size > 0);
}

bool tri_card_find(struct tr_bytes own, struct tr_text name, struct tri_card *card)
{
    struct tr_bytes value = tri_card_member(own, name);
    for (size_t i = 0; i < tri_cards_ours_count && value.size == 0; i++) {
        if (tr_text_equal(name, tr_text_of(tri_cards_ours[i].name))) {
            value =
                (struct tr_bytes){.data = tri_cards_ours[i].bytes, .size = tri_cards_ours[i].size};
        }
    }
    *card = (struct tri_card){.name = name, .value = value};
    return value.size > 0;
}

struct tri_card_resource tri_card_resource(struct tr_bytes card)
{
    struct tr_bytes resource = tr_json_get(card, "resource");
    int64_t most = tr_json_i64(tr_json_get(resource, "name_bytes_max"), 0);
    return (struct tri_card_resource){
        .group = tr_json_text(tr_json_get(resource, "group")),
        .version = tr_json_text(tr_json_get(resource, "version")),
        .plural = tr_json_text(tr_json_get(resource, "plural")),
        .kind = tr_json_text(tr_json_get(resource, "kind")),
        .is_cluster =
            tr_text_equal(tr_json_text(tr_json_get(resource, "scope")), tr_text_of("cluster")),
        .name_bytes_max = most > 0 ? (size_t)most : TR_CARD_RESOURCE_NAME_BYTES_MAX,
    };
}
