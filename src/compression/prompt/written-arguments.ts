import { isObject } from '../../json/object.ts';
import { type Message, toolCallsOf } from './message.ts';

/** A text that an assistant passed to a tool, such as a file to write, and its name for later references. */
export interface WrittenArgument {
  text: string;
  source: string;
}

const MIN_LENGTH = 300;
const NAME = /^[\w.-]{1,40}$/;
/** Arguments up to this length are shown, to identify the call. */
const MAX_SHOWN = 80;

/** The long texts among the tool arguments of a message: an agent often reads back what it has just written. */
export function writtenArgumentsIn(message: Message): WrittenArgument[] {
  const list: WrittenArgument[] = [];
  for (const { name, args } of toolCallsOf(message).values()) {
    if (args.length < MIN_LENGTH) continue;
    const entries = Object.entries(parse(args));
    const short = entries.filter(([, value]) => JSON.stringify(value).length <= MAX_SHOWN);
    const others = JSON.stringify(Object.fromEntries(short));
    for (const [key, text] of entries) {
      if (typeof text !== 'string' || text.length < MIN_LENGTH || !NAME.test(key)) continue;
      list.push({ text, source: `the ${key} that ${name} ${others} was given` });
    }
  }
  return list;
}

function parse(args: string): object {
  try {
    const parsed: unknown = JSON.parse(args);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}
