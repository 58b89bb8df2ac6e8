import { OPEN_BRACKET, type Range } from '../../json/bytes.ts';
import { applyEdits, type Edit, insertMember, moved } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import { type Member, readValue, scanArray, scanObject } from '../../json/scan.ts';
import type { Dialect } from '../../providers/dialects/dialect.ts';
import { ChatAnswerReader } from '../../translation/apis/chat/read-answer.ts';
import { ownerOf } from '../../translation/carry/envelope.ts';
import {
  type ItemMemories,
  type ItemMemory,
  reasoningIn,
  turnId,
} from '../../translation/carry/item-memory.ts';
import { TurnKeeper } from '../../translation/carry/turn-keeper.ts';
import type { ReasoningPart } from '../../translation/conversation/conversation.ts';
import { plainId, takenId } from '../../translation/repair/ids.ts';
import { dataIn, parseObject } from '../../wire/answer/events.ts';
import type { AnyRequestContext, RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';

const TOOL_CALLS = Buffer.from('"tool_calls"');

/** Whether a provider refuses calls without the reasoning that they came with. */
function needsReasoning({ reasoning, extras, standIn }: Dialect, model: string): boolean {
  return reasoning === 'required' || (extras === true && standIn?.models.test(model) === true);
}

/** Whether calls of earlier turns may have to be mended for a provider that speaks the client's API. */
export const mendsCalls = (dialect: Dialect, model: string): boolean =>
  dialect.toolIds !== undefined || needsReasoning(dialect, model);

/**
 * The request of a client of chat completions as its provider takes it where the session began elsewhere, or the client has
 * dropped what has to come back: ids of calls in the provider's form, and the reasoning that belongs to calls, as far as gw
 * has kept it. The same request where there is nothing to mend. `isAsked`: the provider has asked for reasoning.
 */
export function withMendedCalls(
  context: RequestContext,
  { provider, model }: Target,
  memory: Pick<ItemMemory, 'recall'>,
  dialect: Dialect,
  isAsked = false,
): RequestContext {
  const { wire, request } = context;
  if (wire.path !== '/chat/completions' || !request.bytes.includes(TOOL_CALLS)) return context;
  const isNeeded = needsReasoning(dialect, model);
  const list = request.members.find(({ key }) => key === 'messages');
  if (!list || !(isNeeded || dialect.toolIds)) return context;
  const owner = ownerOf(provider.name, model);
  const messages = scanArray(request.bytes, list.start).flatMap(({ start, end }) => {
    const message = messageOf(request.bytes.subarray(start, end));
    const kept = isNeeded
      ? message?.calls.map(({ id }) => reasoningIn(memory.recall(turnId(owner, id))))
      : [];
    return message ? [{ ...message, start, kept: kept?.find((each) => each !== undefined) }] : [];
  });
  const thinks = isAsked || messages.some(({ kept, hasReasoning }) => kept !== undefined || hasReasoning);
  const edits = messages.flatMap((message) =>
    [...reasoningEdits(message, thinks, dialect), ...idEdits(message, dialect)].map((edit) =>
      moved(edit, message.start),
    ),
  );
  if (edits.length === 0) return context;
  return { ...context, request: wire.parse(applyEdits(request.bytes, edits)) };
}

interface Call {
  id: string;
  /** Where its id stands in the message, as JSON. */
  at: Range;
  start: number;
  members: Member[];
}

/** A message with tool calls, or the result of one. */
interface CallMessage {
  members: Member[];
  calls: Call[];
  hasReasoning: boolean;
  kept?: ReasoningPart | undefined;
  /** Of a result. */
  resultOf?: { id: string; at: Range } | undefined;
}

const TOOL_CALL = Buffer.from('"tool_call');

function messageOf(bytes: Buffer): CallMessage | undefined {
  if (!bytes.includes(TOOL_CALL)) return undefined;
  const members = scanObject(bytes);
  const list = members.find(({ key }) => key === 'tool_calls');
  const result = members.find(({ key }) => key === 'tool_call_id');
  const calls = list && bytes[list.start] === OPEN_BRACKET ? scanArray(bytes, list.start) : [];
  return {
    members,
    calls: calls.flatMap(({ start, end }) => callIn(bytes, start, end)),
    hasReasoning: members.some(({ key }) => key === 'reasoning_content'),
    resultOf: result && { id: String(readValue(bytes, result)), at: result },
  };
}

function callIn(bytes: Buffer, start: number, end: number): Call[] {
  const members = scanObject(bytes.subarray(start, end));
  const id = members.find(({ key }) => key === 'id');
  if (!id) return [];
  const at = { start: start + id.start, end: start + id.end };
  return [{ id: String(readValue(bytes, at)), at, start, members }];
}

function idEdits({ calls, resultOf }: CallMessage, dialect: Dialect): Edit[] {
  if (!dialect.toolIds) return [];
  return [...calls, ...(resultOf ? [resultOf] : [])].flatMap(({ id, at }) => {
    const taken = takenId(id, dialect);
    return taken === id ? [] : [{ ...at, text: JSON.stringify(taken) }];
  });
}

/** A call of another model's is sent without reasoning, where the provider has thought in this session. */
function reasoningEdits(
  { members, calls, hasReasoning, kept }: CallMessage,
  thinks: boolean,
  dialect: Dialect,
): Edit[] {
  if (calls.length === 0) return [];
  const edits: Edit[] = [];
  if (dialect.reasoning === 'required' && thinks && !hasReasoning)
    edits.push(insertMember(members, 'reasoning_content', JSON.stringify(kept?.text ?? '')));
  if (!dialect.extras || calls.some((call) => call.members.some(({ key }) => key === 'extra_content')))
    return edits;
  const values = kept?.seals.filter(({ kind }) => kind === 'calls').flatMap((seal) => seal.values) ?? [];
  const found = new Map(values.map(({ id, extra_content }) => [id, extra_content]));
  calls.forEach((call, i) => {
    const extra = found.get(plainId(call.id)) ?? (i === 0 ? dialect.standIn?.extra : undefined);
    if (isObject(extra))
      edits.push(moved(insertMember(call.members, 'extra_content', JSON.stringify(extra)), call.start));
  });
  return edits;
}

/** Keeps the reasoning of an answer that goes to its client as it is. */
export interface ReasoningTap {
  takeEvents(events: Buffer): void;
  takeBody(body: Buffer): void;
}

/** Undefined where the provider wants nothing back, or no calls can come. */
export function tapReasoning(
  { wire, request, translator, project }: AnyRequestContext,
  { provider, model }: Target,
  memories: ItemMemories,
): ReasoningTap | undefined {
  const { dialect } = provider;
  if (translator || wire.endpoint !== 'chat/completions' || !dialect || !needsReasoning(dialect, model))
    return undefined;
  if (!request.members.some(({ key }) => key === 'tools')) return undefined;
  const reader = new ChatAnswerReader(() => '');
  const keeper = new TurnKeeper(ownerOf(provider.name, model), memories(project.id).remember);
  return {
    takeEvents(events) {
      for (const data of dataIn(events)) for (const event of reader.event(data)) keeper.note(event);
    },
    takeBody(body) {
      const answer = parseObject(body.toString('utf8'));
      if (answer) for (const event of reader.whole(answer)) keeper.note(event);
    },
  };
}
