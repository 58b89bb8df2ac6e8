import {
  eolOf,
  indentAt,
  indented,
  isFirstInLine,
  isLastInLine,
  lineEnd,
  lineRemoval,
  type Splice,
  spliced,
} from './source-text.ts';
import type { Node } from './tree.ts';

/** Style of containers in brackets. */
export interface FlowStyle {
  /** Whether an insertion breaks an empty container into lines. */
  breaks: boolean;
  /** Space inside the brackets of a container on one line. */
  padding: string;
}

/** Inserts an item: a member at the end, an element at the start. */
export function insertInFlow(text: string, container: Node, item: string, style: FlowStyle): string {
  const { items } = container;
  if (items.length === 0) return insertOnly(text, container, item, style);
  return container.kind === 'list' ? insertFirst(text, container, item) : insertLast(text, container, item);
}

function insertOnly(
  text: string,
  { start, end }: Node,
  item: string,
  { breaks, padding }: FlowStyle,
): string {
  const inner = text.slice(start + 1, end - 1);
  const isBlank = inner.trim() === '';
  const eol = eolOf(text);
  if (isBlank && !breaks)
    return spliced(text, [{ start: start + 1, end: end - 1, text: padding + item + padding }]);
  const indent = indentAt(text, start);
  const inside = indent + unitOf(text);
  const lines = eol + inside + indented(item, inside, eol);
  if (isBlank) return spliced(text, [{ start: start + 1, end: end - 1, text: lines + eol + indent }]);
  // The brackets contain comments: insert after them.
  const last = start + 1 + inner.trimEnd().length;
  return spliced(text, [{ start: last, end: end - 1, text: lines + eol + indent }]);
}

function insertFirst(text: string, { items }: Node, item: string): string {
  const at = items[0]?.start ?? 0;
  const indent = indentAt(text, at);
  const eol = eolOf(text);
  const gap = isFirstInLine(text, at) ? eol + indent : ' ';
  return spliced(text, [{ start: at, end: at, text: `${indented(item, indent, eol)},${gap}` }]);
}

function insertLast(text: string, container: Node, item: string): string {
  const last = container.items.at(-1);
  if (last === undefined) return text;
  const comma = commaIn(text, last.node.end, container.end - 1);
  const after = comma === undefined ? last.node.end : comma + 1;
  const endOfLine = lineEnd(text, after);
  const isBroken = endOfLine < container.end - 1 && isFirstInLine(text, last.start);
  const eol = eolOf(text);
  const indent = indentAt(text, last.start);
  const source = indented(item, indent, eol);
  const comment = isLastInLine(text, after) ? after : endOfLine;
  const at = isBroken ? comment : after;
  const lead = isBroken ? eol + indent : ' ';
  const added = lead + source + (comma === undefined ? '' : ',');
  if (comma !== undefined) return spliced(text, [{ start: at, end: at, text: added }]);
  if (at === after) return spliced(text, [{ start: at, end: at, text: `,${added}` }]);
  return spliced(text, [
    { start: after, end: after, text: ',' },
    { start: at, end: at, text: added },
  ]);
}

/** Removes an item with its comma, and with its lines if nothing else is on them. */
export function removeFromFlow(text: string, container: Node, index: number): string {
  const item = container.items[index];
  if (item === undefined) return text;
  const previous = container.items[index - 1];
  const after = commaIn(text, item.node.end, container.items[index + 1]?.start ?? container.end - 1);
  const before = after === undefined && previous ? commaIn(text, previous.node.end, item.start) : undefined;
  const end = after === undefined ? item.node.end : after + 1;
  const splices: Splice[] = [];
  if (before !== undefined) splices.push({ start: before, end: before + 1, text: '' });
  if (isFirstInLine(text, item.start) && isLastInLine(text, end)) {
    splices.push(lineRemoval(text, item.start, end));
  } else if (before !== undefined && text.slice(before + 1, item.start).trim() === '') {
    return spliced(text, [{ start: before, end, text: '' }]);
  } else {
    const gap = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0;
    splices.push({ start: item.start, end: container.items[index + 1] ? end + gap : end, text: '' });
  }
  return spliced(text, splices);
}

/** Position of the comma between two items, past white space and comments of JSON, YAML or TOML. */
function commaIn(text: string, start: number, end: number): number | undefined {
  const skipped = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/|#[^\n]*)*/y;
  skipped.lastIndex = start;
  skipped.exec(text);
  const at = skipped.lastIndex;
  return at < end && text[at] === ',' ? at : undefined;
}

/** Indentation of the text's first indented line; two spaces if there is none. */
export const unitOf = (text: string): string => /^(?:\t| {1,8})(?=[^\s])/m.exec(text)?.[0] ?? '  ';
