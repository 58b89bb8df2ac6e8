import { send } from '../wire/support/send.ts';
import { type GatewayOptions, startGateway, type TestGateway } from './gateway.ts';
import { json, type Script } from './scripts.ts';

export const HI = [{ role: 'user', parts: [{ text: 'Hi' }] }];
export const MODEL = 'gemini-2.5-flash';
export const GENERATE = `/v1beta/models/${MODEL}:generateContent`;
export const STREAM = `/v1beta/models/${MODEL}:streamGenerateContent?alt=sse`;

export const answerOf = (usageMetadata: object, parts: object[] = [{ text: 'Hello' }]) => ({
  candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP', index: 0 }],
  usageMetadata,
  modelVersion: MODEL,
  responseId: 'r1',
});
export const PLAIN = answerOf({ promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 });

export const events =
  (values: readonly object[], end = ''): Script =>
  async (exchange) => {
    await exchange.body;
    const text = values.map((value) => `data: ${JSON.stringify(value)}\r\n\r\n`).join('');
    await exchange.send(200, { 'content-type': 'text/event-stream' }, text + end);
  };

export async function start(options: GatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startGateway({
    ...options,
    settings: { ...options.settings, providers: { gemini: { baseUrl: 'http://127.0.0.1:1/v1beta' } } },
    credentials: { gemini: 'AIza-provider' },
  });
  gateway.configure({ providers: { gemini: { baseUrl: gateway.upstream.url.replace(/v1$/, 'v1beta') } } });
  gateway.upstream.script(json(200, PLAIN));
  return gateway;
}

export const ask = (gateway: TestGateway, body: object, path = GENERATE) =>
  send(gateway, path, { contents: HI, ...body });
