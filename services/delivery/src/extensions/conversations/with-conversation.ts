import { conversationNotFound, type GenerationRequest, RepriseError, unixNow } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { Owner } from "../../create/creating.ts";
import type { NodeConversations } from "./open-conversations.ts";

/**
 * A turn is about whom its conversation is about, and is the same end user's: the request can't say otherwise. An end user's token reaches that
 * user's conversations alone.
 * @param begins whose a conversation is to be that is not there yet
 * @throws RepriseError `conversation_not_found`, `invalid_request`, `broker_unavailable`
 */
export async function withConversation(
  { rows }: NodeConversations,
  { tenant, endUser }: Pick<Principal, "tenant" | "endUser">,
  request: GenerationRequest,
  begins?: Owner,
): Promise<GenerationRequest> {
  if (request.conversation === undefined) return request;
  const owner = begins ?? (await rows.find(tenant, request.conversation, unixNow())).row;
  const { subject, end_user } = owner;
  if (endUser !== undefined && end_user !== endUser) throw conversationNotFound();
  for (const [name, own] of Object.entries({ subject, end_user })) {
    const said = request[name as "subject" | "end_user"];
    if (said === undefined || said === own) continue;
    throw new RepriseError("invalid_request", `${name}: is another one than the conversation's.`, {
      param: name,
    });
  }
  return {
    ...request,
    ...(subject !== undefined && { subject }),
    ...(end_user !== undefined && { end_user }),
  };
}
