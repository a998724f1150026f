/*
 * The digest is GLib's.
 */
#include "deploy/data_proxy/md5.h"

#include <glib.h>

void tr_md5_init(struct tr_md5 *md5)
{
    md5->sum = g_checksum_new(G_CHECKSUM_MD5);
}

void tr_md5_add(struct tr_md5 *md5, struct tr_bytes bytes)
{
    g_checksum_update(md5->sum, bytes.data, (gssize)bytes.size);
}

void tr_md5_end(struct tr_md5 *md5, uint8_t digest[TR_MD5_BYTES])
{
    gsize size = TR_MD5_BYTES;
    g_checksum_get_digest(md5->sum, digest, &size);
    tr_md5_fini(md5);
}

void tr_md5_fini(struct tr_md5 *md5)
{
    g_clear_pointer((GChecksum **)&md5->sum, g_checksum_free);
}
