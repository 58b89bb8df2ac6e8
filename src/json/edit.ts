import { copyBytes, type Range } from './bytes.ts';
import type { Member } from './scan.ts';

/** Replaces a byte range with text. Edits of the same bytes must not overlap. */
export interface Edit extends Range {
  text: string | Buffer;
}

/** Applies the edits. Without edits, returns the same buffer. */
export function applyEdits(bytes: Buffer, edits: Edit[]): Buffer {
  if (edits.length === 0) return bytes;
  let length = bytes.length;
  for (const { start, end, text } of edits) length += Buffer.byteLength(text) - (end - start);
  const edited = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    to += copyBytes(bytes.subarray(from, start), edited, to);
    to += typeof text === 'string' ? edited.write(text, to) : copyBytes(text, edited, to);
    from = end;
  }
  copyBytes(bytes.subarray(from), edited, to);
  return edited;
}

/** Moves an edit of a part to its place in the whole, where the part begins at `offset`. */
export function moved({ start, end, text }: Edit, offset: number): Edit {
  return { start: offset + start, end: offset + end, text };
}

export function replaceValue(member: Member, text: string): Edit {
  return { start: member.start, end: member.end, text };
}

/** Inserts a member before an object's first member. The object must not be empty. */
export function insertMember(members: Member[], key: string, json: string): Edit {
  const at = members[0]?.keyStart ?? 0;
  return { start: at, end: at, text: `${JSON.stringify(key)}:${json},` };
}

/** Removes elements of an array, with their commas. */
export function removeElements<T extends Range>(
  elements: readonly T[],
  isRemoved: (element: T) => boolean,
): Edit[] {
  const lastKept = elements.findLastIndex((element) => !isRemoved(element));
  return elements.flatMap((element, i) => {
    if (!isRemoved(element)) return [];
    const next = elements[i + 1];
    // After the last kept element, each removed element takes the comma before it.
    if (i > lastKept) return { start: elements[i - 1]?.end ?? element.start, end: element.end, text: '' };
    return { start: element.start, end: next?.start ?? element.end, text: '' };
  });
}

/** Removes a member with its comma. */
export function removeMember(members: readonly Member[], member: Member): Edit {
  const index = members.indexOf(member);
  const next = members[index + 1];
  if (next) return { start: member.keyStart, end: next.keyStart, text: '' };
  const previous = members[index - 1];
  return { start: previous?.end ?? member.keyStart, end: member.end, text: '' };
}
