import { type Edit, removeElements } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import { JsonSyntaxError, readValue, scanArray, scanObject } from '../../json/scan.ts';
import { OWN_REASONING_MARK } from '../../translation/own-reasoning-mark.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { RequestContext } from '../context/request-context.ts';

const MARK = Buffer.from(`"${OWN_REASONING_MARK}`);

/**
 * Removes the reasoning of earlier translated answers: gw made it, and a provider refuses reasoning that it didn't
 * sign. Turns are valid without it (https://docs.claude.com/en/docs/build-with-claude/extended-thinking).
 */
export function stripOwnReasoning({ wire, request, translator }: RequestContext): Edit[] {
  const { bytes } = request;
  if (translator || wire.form === undefined || wire.form === 'chat' || bytes.indexOf(MARK) < 0) return [];
  try {
    return editsIn(request);
  } catch (error) {
    // Invalid JSON inside the request is left for the provider to refuse.
    if (error instanceof JsonSyntaxError) return [];
    throw error;
  }
}

function editsIn({ bytes, members }: WireRequest): Edit[] {
  const list = members.find(({ key }) => key === 'input' || key === 'messages');
  if (!list || bytes[list.start] !== OPEN_BRACKET) return [];
  const elements = scanArray(bytes, list.start);
  const own = new Set(elements.filter((span) => isOwnReasoning(bytes, span)));
  const messages = elements.filter((span) => !own.has(span)).map((span) => blocksOf(bytes, span));
  const empty = messages.filter(({ blocks, left }) => blocks.length > 0 && left === 0);
  for (const { span } of empty) own.add(span);
  return [
    ...removeElements(elements, (span) => own.has(span)),
    ...messages.filter(({ left }) => left > 0).flatMap(({ edits }) => edits),
  ];
}

const OPEN_BRACKET = 0x5b;

/** A range of the body's bytes. */
interface Span {
  start: number;
  end: number;
}

/** The blocks of a message, how many of them stay, and the edits that remove the others. */
function blocksOf(bytes: Buffer, span: Span): { span: Span; blocks: Span[]; left: number; edits: Edit[] } {
  const content = contentOf(bytes, span);
  const blocks = content ? scanArray(bytes, content.start) : [];
  const own = new Set(blocks.filter((block) => isOwnReasoning(bytes, block)));
  return {
    span,
    blocks,
    left: blocks.length - own.size,
    edits: removeElements(blocks, (block) => own.has(block)),
  };
}

/** The content array of a message that contains the mark. */
function contentOf(bytes: Buffer, { start, end }: Span): Span | undefined {
  if (bytes.subarray(start, end).indexOf(MARK) < 0) return undefined;
  const content = scanObject(bytes.subarray(start, end)).findLast(({ key }) => key === 'content');
  if (!content || bytes[start + content.start] !== OPEN_BRACKET) return undefined;
  return { start: start + content.start, end: start + content.end };
}

/** Whether an element is a reasoning item or a thinking block that gw made. */
function isOwnReasoning(bytes: Buffer, span: Span): boolean {
  if (bytes.subarray(span.start, span.end).indexOf(MARK) < 0) return false;
  const value = readValue(bytes, span);
  if (!isObject(value)) return false;
  const { type, encrypted_content, signature, data } = value;
  const seals: Record<string, unknown> = {
    reasoning: encrypted_content,
    thinking: signature,
    redacted_thinking: data,
  };
  const seal = typeof type === 'string' && Object.hasOwn(seals, type) ? seals[type] : undefined;
  return typeof seal === 'string' && seal.startsWith(OWN_REASONING_MARK);
}
