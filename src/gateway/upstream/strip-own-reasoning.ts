import { type Edit, removeElements } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import { JsonSyntaxError, readValue, scanArray, scanObject } from '../../json/scan.ts';
import { OWN_REASONING_MARK } from '../../translation/own-reasoning-mark.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { RequestContext } from '../context/request-context.ts';

const MARK = Buffer.from(`"${OWN_REASONING_MARK}`);

/**
 * Leaves out the reasoning that came of a translated answer: the provider that gets the request as it is did not sign
 * it and would refuse it. Its turns may be given without (https://docs.claude.com/en/docs/build-with-claude/extended-thinking).
 */
export function stripOwnReasoning({ wire, request, translator }: RequestContext): Edit[] {
  const { bytes } = request;
  if (translator || wire.form === undefined || wire.form === 'chat' || bytes.indexOf(MARK) < 0) return [];
  try {
    return editsIn(request);
  } catch (error) {
    // A text inside that is no JSON is the provider's to judge.
    if (error instanceof JsonSyntaxError) return [];
    throw error;
  }
}

function editsIn({ bytes, members }: WireRequest): Edit[] {
  const list = members.find(({ key }) => key === 'input' || key === 'messages');
  if (!list || bytes[list.start] !== OPEN_BRACKET) return [];
  const elements = scanArray(bytes, list.start);
  const own = new Set(elements.filter((place) => isOwn(bytes, place)));
  const within = elements.filter((place) => !own.has(place)).map((place) => blocksOf(bytes, place));
  const emptied = within.filter(({ blocks, left }) => blocks.length > 0 && left === 0);
  for (const { place } of emptied) own.add(place);
  return [
    ...removeElements(elements, (place) => own.has(place)),
    ...within.filter(({ left }) => left > 0).flatMap(({ edits }) => edits),
  ];
}

const OPEN_BRACKET = 0x5b;

interface Place {
  start: number;
  end: number;
}

/** The blocks of a message, how many are left, and the edits that remove the others. */
function blocksOf(
  bytes: Buffer,
  place: Place,
): { place: Place; blocks: Place[]; left: number; edits: Edit[] } {
  const content = contentOf(bytes, place);
  const blocks = content ? scanArray(bytes, content.start) : [];
  const own = new Set(blocks.filter((block) => isOwn(bytes, block)));
  return {
    place,
    blocks,
    left: blocks.length - own.size,
    edits: removeElements(blocks, (block) => own.has(block)),
  };
}

/** The list of blocks of a message that bears the mark. */
function contentOf(bytes: Buffer, { start, end }: Place): Place | undefined {
  if (bytes.subarray(start, end).indexOf(MARK) < 0) return undefined;
  const content = scanObject(bytes.subarray(start, end)).findLast(({ key }) => key === 'content');
  if (!content || bytes[start + content.start] !== OPEN_BRACKET) return undefined;
  return { start: start + content.start, end: start + content.end };
}

/** A reasoning item, or a block of thought, that gw made. */
function isOwn(bytes: Buffer, place: Place): boolean {
  if (bytes.subarray(place.start, place.end).indexOf(MARK) < 0) return false;
  const value = readValue(bytes, place);
  if (!isObject(value)) return false;
  const { type, encrypted_content, signature } = value;
  const signed = type === 'reasoning' ? encrypted_content : type === 'thinking' ? signature : undefined;
  return typeof signed === 'string' && signed.startsWith(OWN_REASONING_MARK);
}
