import {
  append,
  callOnce,
  completed,
  createGeneration,
  delta,
  openPlatform,
  started,
} from "../../services/delivery/src/testing/platform.ts";

interface Refusal {
  readonly code: string;
  readonly param?: string;
}

/** Creates, ends and reads a generation at a new node, and sends creates that need its extensions. */
export async function deliverOne() {
  await using platform = await openPlatform();
  const { url } = platform.node;
  const { generation, path, worker } = await createGeneration(platform);
  await append(worker, started(), delta("Hi."), completed());
  const { json } = await callOnce(url + path);
  const { status, text } = json as { status: string; text: string };
  const create = async (to: string, fields: object) => {
    const answer = await callOnce(`${url}/v1/${to}`, { body: { model: "sim", input: "And?", ...fields } });
    const { error } = answer.json as { error?: Refusal };
    return error ? `${error.code} ${error.param}` : answer.status;
  };
  const absent = "0".repeat(26);
  const part = { type: "file", blob: `blob_${absent}` };
  return {
    status,
    text,
    blob: await create("generations", { input: [{ role: "user", content: [part] }] }),
    conversation: await create("generations", { conversation: `conv_${absent}` }),
    response: await create("responses", {
      previous_response_id: generation.id,
      background: true,
    }),
    stream: await create("streams/absent", {}),
  };
}
