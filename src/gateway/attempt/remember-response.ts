import { isObject } from '../../json/object.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { valuesIn } from '../../wire/answer/events.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import type { Relay } from '../answer/relay.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Route } from '../routing/route.ts';

/** Remembers which target stores a response and its conversation. */
export function rememberResponse(
  { router }: Pick<Gateway, 'router'>,
  context: RequestContext,
  route: Route | undefined,
  relay: Relay,
): void {
  if (!route?.hasOthers || context.wire !== responsesWire || relay.status >= 300) return;
  for (const id of idsIn(relay)) router.responses.set(id, { target: route.target.candidate });
}

/** Providers choose the ids, and gw keeps many of them. */
const MAX_ID_LENGTH = 200;

function idsIn(relay: Relay): string[] {
  const { id, conversation } = relay.isStream ? responseIn(relay.closingEvent) : membersOf(relay.unsent);
  const ids = [id, isObject(conversation) ? conversation.id : undefined];
  return ids.filter((name) => typeof name === 'string' && name.length <= MAX_ID_LENGTH) as string[];
}

function responseIn(closing: Buffer): Record<string, unknown> {
  for (const { response } of valuesIn(closing)) if (isObject(response)) return response;
  return {};
}

function membersOf(body: Buffer | undefined): Record<string, unknown> {
  const ids: Record<string, unknown> = {};
  try {
    for (const member of body ? scanObject(body) : []) {
      if (body && IDS.includes(member.key)) ids[member.key] = readValue(body, member);
    }
  } catch {
    // A body that is not JSON has no id.
  }
  return ids;
}

const IDS = ['id', 'conversation'];
