import type { BlobInfo } from "./blob-store.ts";

/** The text of the first element of this name that holds nothing but text. */
export function xmlField(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text
    ?.replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** The objects on a page of `ListObjectsV2`, under their whole keys. */
export function* readListing(page: string): Generator<BlobInfo> {
  for (const [, entry = ""] of page.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
    const key = xmlField(entry, "Key");
    if (key !== undefined) yield { key, bytes: Number(xmlField(entry, "Size")) };
  }
}
