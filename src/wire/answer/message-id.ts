import { isObject } from '../../json/object.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { valuesIn } from './events.ts';

const HEAD_BYTES = 512;
/** The usual place of the id at OpenAI and Anthropic: among the first fields of the body or of the first event. */
const EARLY_ID =
  /^\s*(?:event:[^\n]*\n)?(?:data: ?)?\{\s*(?:"(?:type|model|role|object|sequence_number)":\s*(?:"[^"]*"|\d+),\s*)*(?:"(?:message|response)":\s*\{\s*)?(?:"(?:type|model|role|object)":\s*"[^"]*",\s*)*"id":\s*"([^"\\]*)"/;

/** The provider's response id, such as `msg_...`, from a body or from first events; empty if missing or unusable. */
export function messageIdIn(answer: Buffer, isStream: boolean): string {
  const early = EARLY_ID.exec(answer.toString('latin1', 0, HEAD_BYTES));
  const id = early ? early[1] : isStream ? idInEvents(answer) : idInBody(answer);
  return typeof id === 'string' && ID.test(id) ? id : '';
}

/** Providers choose the ids, so their characters and length are checked. */
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
