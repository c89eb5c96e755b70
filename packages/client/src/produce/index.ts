export { durable, type StreamedResult } from "./durable.ts";
export {
  claimProducer,
  produce,
  type Producer,
  type ProducerEnd,
  type ProducerGrant,
  producerOf,
} from "./producer-of.ts";
