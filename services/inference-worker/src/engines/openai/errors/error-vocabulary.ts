/*
 * The words that servers make their errors of. Everything else in an error may be the request's, the model's or a key.
 */

export const ERROR_WORDS = new Set(
  `a an and any are argument as at be been before but by can cannot did do does either exceed exceeded exceeds field for from
  greater had has have if in into is it its less must no not of on only or per than that the then this to too was when
  while will with without you your
  abort aborted accept accepted access account action active adapter address allocate allocated allocation allowed already api
  application array assistant at attention auth authentication authorization available bad backend balance batch begin billing
  bind blocks body broken buffer bug busy cache call called calls canceled cancelled capacity change chat check choice choices
  chunk client closed cluster code command completion completions config configuration conflict connect connection content context
  contact continue corrupt could crash crashed credentials credit credits cuda current data dead deadline decode decoder default
  deny deployment detected device died disabled disk document duplicate embedding embeddings empty enabled encode end endpoint
  engine entity entry error errors evicted exception exhausted exist exists expected expired extra fail failed failing failure
  fatal feature file final find finish finished first fit forbidden format forward found full function gateway generate generated
  generation gpu gpus grammar guided handle header healthy host http id illegal image images implemented in inference initialize
  initialized input inputs instance insufficient integer internal invalid io ip is json kernel key kill killed kv large last layer
  length limit limits list load loaded loading local lock long longer lora low malformed mask max maximum memory message messages
  method min minimum missing mode model models module multiple name names negative network new node none null number object of
  offline one oom open operation option options order organization out output over overloaded overload parallel parameter
  parameters parse parsed parser parsing path payload peer pending permission permitted phase pipeline please policy pool port
  positive prefill prefix prefixes process processed processing processor prompt property protocol provided provider proxy queue
  queued quota range rate reached read reason reasoning reached received refused regex reject rejected remaining remote replica
  request requested requests required reserved reset resource resources response responses result retry return returned role
  router rule runner running runtime sampling scheduled scheduler schema schemas seconds select seed sequence sequences server
  service set shape shard short shut shutdown shutting size sizes slot slots small socket space stack start started starting
  state status stop stopped storage stream streaming string strings structured successful support supported supports syntax
  system task template temperature temporarily tenant tensor text thread threads time timed timeout token tokenize tokenizer
  tokens tool tools total transport traceback true false try type types unable unauthorized unavailable undefined unexpected
  unhealthy unique unknown unload unloaded unprocessable unrecognized unreachable unset unsupported unused update upstream usage
  use used user using valid validation value values version waiting warmup weights window worker workers write wrong zero`
    .split(/\s+/)
    .filter(Boolean),
);

/** A number is kept if one of these words is next to it. */
export const MEASURES = new Set(
  `token tokens length limit maximum minimum max min than least most status code size slot slots bytes byte kb mb gb mib gib ms s
  seconds characters requests port`.split(/\s+/),
);
