/** What the head says of one field of a shape. */
export interface Field {
  key: string;
  constant?: string;
  type?: string;
}

export interface RecordsHead {
  shapes: Map<string, Field[]>;
  prefixes: Map<string, string>;
}

/** Reads the head of what `encodeRecords` wrote; `body` is the rest. */
export function readRecordsHead(text: string): { head: RecordsHead; body: string } {
  const head: RecordsHead = { shapes: new Map(), prefixes: new Map() };
  const lines = text.split('\n');
  let at = 1;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const prefix = /^([^\w"[{(#])="(.*)"$/s.exec(line);
    const shape = /^#(\d+)\((.*)\)$/s.exec(line);
    if (prefix) head.prefixes.set(prefix[1] ?? '', prefix[2] ?? '');
    else if (shape && at < lines.length - 1) head.shapes.set(shape[1] ?? '', readFields(shape[2] ?? ''));
    else break;
  }
  return { head, body: lines.slice(at).join('\n') };
}

const FIELD = /(?:("(?:[^"\\]|\\.)*")|([^",#=[{<]+))(?:=("(?:[^"\\]|\\.)*"|[^",]+)|([#[{][^,]*))?(?:,|$)/y;

function readFields(text: string): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < text.length; ) {
    FIELD.lastIndex = at;
    const found = FIELD.exec(text);
    if (!found || found[0] === '') break;
    fields.push(readField(found));
    at += found[0].length;
  }
  return fields;
}

function readField([, quoted, bare, value, type]: RegExpExecArray): Field {
  const field: Field = { key: quoted ?? `"${bare}"` };
  if (value !== undefined) field.constant = value;
  if (type !== undefined) field.type = type.replace(/[^\d]/g, '');
  return field;
}
