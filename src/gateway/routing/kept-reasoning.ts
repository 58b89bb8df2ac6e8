import { OPEN_BRACKET } from '../../json/bytes.ts';
import { applyEdits, type Edit, insertMember, moved } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import { readValue, scanArray, scanObject } from '../../json/scan.ts';
import type { Dialect } from '../../providers/dialects/dialect.ts';
import { ChatAnswerReader } from '../../translation/apis/chat/read-answer.ts';
import { ownerOf } from '../../translation/carry/envelope.ts';
import { type ItemMemory, reasoningIn, turnId } from '../../translation/carry/item-memory.ts';
import { TurnKeeper } from '../../translation/carry/turn-keeper.ts';
import type { ReasoningPart } from '../../translation/conversation/conversation.ts';
import { dataIn, parseObject } from '../../wire/answer/events.ts';
import type { AnyRequestContext, RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';

const TOOL_CALLS = Buffer.from('"tool_calls"');

/** Whether a provider refuses calls without the reasoning that they came with. */
function needsReasoning({ reasoning, extras, standIn }: Dialect, model: string): boolean {
  return reasoning === 'required' || (extras === true && standIn?.models.test(model) === true);
}

/**
 * The request of a client of chat completions with the reasoning that belongs to its calls, as far as the client has
 * dropped what its provider wants back and gw has kept it. The same request where there is nothing to put back.
 */
export function withReasoningOfCalls(
  context: RequestContext,
  { provider, model }: Target,
  memory: Pick<ItemMemory, 'recall'>,
  dialect: Dialect,
): RequestContext {
  const { wire, request } = context;
  if (wire.path !== '/chat/completions' || !needsReasoning(dialect, model)) return context;
  if (!request.bytes.includes(TOOL_CALLS)) return context;
  const messages = request.members.find(({ key }) => key === 'messages');
  if (!messages) return context;
  const owner = ownerOf(provider.name, model);
  const find = (callId: string) => reasoningIn(memory.recall(turnId(owner, callId)));
  const edits = scanArray(request.bytes, messages.start).flatMap(({ start, end }) => {
    const message = request.bytes.subarray(start, end);
    return message.includes(TOOL_CALLS)
      ? editsOf(message, find, dialect).map((edit) => moved(edit, start))
      : [];
  });
  if (edits.length === 0) return context;
  return { ...context, request: wire.parse(applyEdits(request.bytes, edits)) };
}

function editsOf(
  message: Buffer,
  find: (callId: string) => ReasoningPart | undefined,
  dialect: Dialect,
): Edit[] {
  const members = scanObject(message);
  const list = members.find(({ key }) => key === 'tool_calls');
  if (!list || message[list.start] !== OPEN_BRACKET) return [];
  const calls = scanArray(message, list.start).map(({ start, end }) => ({
    start,
    fields: scanObject(message.subarray(start, end)),
  }));
  const idOf = ({ start, fields }: (typeof calls)[number]) => {
    const id = fields.find(({ key }) => key === 'id');
    return id && readValue(message, { start: start + id.start, end: start + id.end });
  };
  const kept = calls.map((call) => find(String(idOf(call)))).find((each) => each !== undefined);
  const edits: Edit[] = [];
  if (dialect.reasoning === 'required' && kept && !members.some(({ key }) => key === 'reasoning_content'))
    edits.push(insertMember(members, 'reasoning_content', JSON.stringify(kept.text)));
  if (!dialect.extras || calls.some(({ fields }) => fields.some(({ key }) => key === 'extra_content')))
    return edits;
  const values = kept?.seals.filter(({ kind }) => kind === 'calls').flatMap((seal) => seal.values) ?? [];
  const found = new Map(values.map(({ id, extra_content }) => [id, extra_content]));
  calls.forEach((call, i) => {
    const extra = found.get(idOf(call)) ?? (i === 0 ? dialect.standIn?.extra : undefined);
    if (isObject(extra))
      edits.push(moved(insertMember(call.fields, 'extra_content', JSON.stringify(extra)), call.start));
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
  { wire, request, translator }: AnyRequestContext,
  { provider, model }: Target,
  memory: Pick<ItemMemory, 'remember'>,
): ReasoningTap | undefined {
  const { dialect } = provider;
  if (translator || wire.endpoint !== 'chat/completions' || !dialect || !needsReasoning(dialect, model))
    return undefined;
  if (!request.members.some(({ key }) => key === 'tools')) return undefined;
  const reader = new ChatAnswerReader(() => '');
  const keeper = new TurnKeeper(ownerOf(provider.name, model), memory.remember);
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
