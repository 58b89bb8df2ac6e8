import { isObject } from '../../json/object.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { valuesIn } from './events.ts';

const HEAD_BYTES = 512;
/** The id where OpenAI and Anthropic have it: among the first fields of the answer, or of the first event's. */
const EARLY_ID =
  /^\s*(?:event:[^\n]*\n)?(?:data: ?)?\{\s*(?:"(?:type|model|role|object|sequence_number)":\s*(?:"[^"]*"|\d+),\s*)*(?:"(?:message|response)":\s*\{\s*)?(?:"(?:type|model|role|object)":\s*"[^"]*",\s*)*"id":\s*"([^"\\]*)"/;

/** The provider's id of an answer, such as `msg_...`, by its body or its first events; empty if it has no usable one. */
export function messageIdIn(answer: Buffer, isStream: boolean): string {
  const early = EARLY_ID.exec(answer.toString('latin1', 0, HEAD_BYTES));
  const id = early ? early[1] : isStream ? idInEvents(answer) : idInBody(answer);
  return typeof id === 'string' && ID.test(id) ? id : '';
}

/** Providers choose the ids. */
const ID = /^[\x21-\x7e]{1,128}$/;

function idInEvents(events: Buffer): unknown {
  for (const { id, message, response } of valuesIn(events)) {
    const inner = isObject(message) ? message.id : isObject(response) ? response.id : id;
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function idInBody(body: Buffer): unknown {
  try {
    const id = scanObject(body).find(({ key }) => key === 'id');
    return id && readValue(body, id);
  } catch {
    return undefined;
  }
}
