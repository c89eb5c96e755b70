import { Agent } from "node:http";
import { serveProducer } from "../serve-producer.ts";
import { AppendStream } from "./append-stream.ts";

const [baseUrl] = process.argv.slice(2) as [string];
const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
const streams = new Map<string, AppendStream>();

serveProducer({
  async open() {
    const id = String(streams.size + 1);
    const stream = new AppendStream(`${baseUrl}/${id}`, agent);
    streams.set(id, stream);
    await stream.create();
    return id;
  },
  append: (id, text) => streams.get(id)!.append(text),
  stored: (id) => streams.get(id)!.stored(),
});
