import { pause } from "@reprise/async";
import { type Broker, readStreamInfo, type StreamInfo } from "@reprise/broker";
import type { StreamSeq } from "@reprise/protocol";

const ASK_AGAIN_MS = 500;
const TIMES = 20;

/**
 * Reads what the broker says of a stream that had this message. A leader that was frozen, and was replaced meanwhile, may answer before it knows of that: it
 * lacks what its successor has stored. So a stream that seems to have lost its end is asked for 10 s.
 * @throws RepriseError `broker_unavailable`
 */
export async function readSettledInfo(
  connection: Broker["reads"],
  stream: string,
  { created, last }: { readonly created: string; readonly last: StreamSeq },
): Promise<StreamInfo> {
  for (let times = 1; ; times++) {
    const info = await readStreamInfo(connection, stream);
    if (info.created !== created || info.lastStreamSeq >= last || times === TIMES) return info;
    await pause(ASK_AGAIN_MS);
  }
}
