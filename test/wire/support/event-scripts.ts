import { json, type Script } from '../../support/scripts.ts';

/** An event of a stream: its name, which may be empty, and its data. */
export type Event = [name: string, data: object | string];

export interface EventOptions {
  headers?: Record<string, string>;
  /** Whether the answer ends normally or by a connection reset. */
  end?: 'finish' | 'reset';
  /** Send all events in one write instead of one write each. */
  together?: boolean;
}

/** An event stream of any API. */
export function events(list: Event[], { headers = {}, end = 'finish', together }: EventOptions = {}): Script {
  return async (exchange) => {
    await exchange.body;
    await exchange.start(200, { 'content-type': 'text/event-stream', ...headers });
    const texts = list.map(eventText);
    for (const text of together ? [texts.join('')] : texts) await exchange.chunk(text);
    await exchange[end]();
  };
}

export function eventText([name, data]: Event): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${name === '' ? '' : `event: ${name}\n`}data: ${text}\n\n`;
}

/** Answers with `plain`, or with the events if the request asks for a stream. */
export function either(plain: object, stream: Event[]): Script {
  return async (exchange) => {
    const request = JSON.parse((await exchange.body).toString()) as { stream?: boolean };
    await (request.stream ? events(stream) : json(200, plain))(exchange);
  };
}

/** The events of a body, with their JSON or text. */
export function readEvents(body: Buffer): Event[] {
  return body
    .toString()
    .split('\n\n')
    .filter((text) => text !== '')
    .map((text) => {
      const name = /^event: (.*)$/m.exec(text)?.[1] ?? '';
      const data = /^data: (.*)$/m.exec(text)?.[1] ?? '';
      return [name, data.startsWith('{') ? JSON.parse(data) : data];
    });
}
