/** The first rows of a Parquet file; a bundle of its own, which is got by who opens such a file. */
import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";

/** {names, rows, more} of a file that is read by {byteLength, slice}. */
export async function readHead(file, most) {
  const metadata = await parquetMetadataAsync(file);
  const names = parquetSchema(metadata).children.map((column) => column.element.name);
  const total = Number(metadata.num_rows);
  try {
    const rows = total === 0 ? [] : await parquetReadObjects({ file, metadata, rowStart: 0, rowEnd: Math.min(total, most) });
    const more = total > rows.length ? `The first of ${total.toLocaleString()} rows.` : null;
    return { names, rows: rows.map((row) => names.map((name) => row[name])), more };
  } catch (problem) {
    return { names, rows: [], more: `Its ${total.toLocaleString()} rows cannot be read here: ${problem.message}.` };
  }
}
