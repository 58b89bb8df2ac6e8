import { createEventFramer } from '../../sse/frame.ts';
import { dataIn } from '../../wire/answer/events.ts';
import type { Envelope } from '../context/exchange.ts';

/**
 * Writes the data of events as the elements of a list, as Google does for a stream without `alt=sse`:
 * https://docs.cloud.google.com/apis/docs/system-parameters
 */
export function listEnvelope(): Required<Envelope> {
  const framer = createEventFramer();
  let before = '[';
  return {
    streamType: 'application/json; charset=UTF-8',
    events(bytes) {
      let list = '';
      for (const data of dataIn(framer.push(bytes))) {
        if (data === '') continue;
        list += before + data;
        before = ',\r\n';
      }
      return Buffer.from(list);
    },
    end: () => Buffer.from(before === '[' ? '[]' : ']'),
    whole: (body) => body,
  };
}
