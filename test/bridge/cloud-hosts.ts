import type { ProviderSettings } from '../../src/config/settings.ts';
import { objectsIn } from '../../src/json/object.ts';
import type { Json } from '../../src/translation/json.ts';
import { chunk, joined } from '../providers/clouds/support/frames.ts';
import { readEvents } from '../wire/support/event-scripts.ts';
import type { Host } from './hosts.ts';
import type { StrictApi } from './providers/strict.ts';
import { strictChat } from './providers/strict-chat.ts';
import { strictGemini } from './providers/strict-gemini.ts';
import { strictMessages } from './providers/strict-messages.ts';
import { strictResponses } from './providers/strict-responses.ts';

/** An account at a cloud; `path` is that of its base URL, behind the host's name. */
export interface CloudHost extends Host {
  settings: ProviderSettings;
  path: string;
}

const CLAUDE = 'claude-sonnet-4-5';

/** Claude at the address of its model, with a version in the body. */
function addressed(call: RegExp, version: string, isFramed = false): StrictApi {
  const inner = strictMessages();
  return {
    ...inner,
    path: '',
    callOf(path) {
      const [, model = '', method = ''] = call.exec(path) ?? [];
      return method ? { model: decodeURIComponent(model), stream: /stream/i.test(method) } : undefined;
    },
    faultOf({ anthropic_version, ...body }) {
      if (anthropic_version !== version) return 'anthropic_version: Field required';
      if (body.model !== undefined) return 'model: Extra inputs are not permitted';
      if (isFramed && body.stream !== undefined) return 'stream: Extra inputs are not permitted';
      return inner.faultOf({ ...body, model: 'model' });
    },
    ...(isFramed && {
      streamType: 'application/vnd.amazon.eventstream',
      stream: (reply) => joined(readEvents(Buffer.from(inner.stream(reply))).map(chunk)),
    }),
  };
}

/** Gemini at Vertex AI, where ids of calls are unknown fields: https://github.com/vercel/ai/issues/15664 */
function vertexGemini(): StrictApi {
  const inner = strictGemini({ hasNoIds: true });
  const calls = ({ contents }: Json) =>
    objectsIn(contents).flatMap(({ parts }) =>
      objectsIn(parts).flatMap(({ functionCall, functionResponse }) =>
        objectsIn([functionCall, functionResponse]),
      ),
    );
  return {
    ...inner,
    callOf: (path) => (path.includes('/publishers/google/models/') ? inner.callOf?.(path) : undefined),
    faultOf: (body) =>
      calls(body).some(({ id }) => id !== undefined)
        ? 'Unknown name "id": Cannot find field.'
        : inner.faultOf(body),
  };
}

/** Clouds by their kinds of accounts, as columns of the matrix. */
export const CLOUD_HOSTS: readonly CloudHost[] = [
  {
    name: 'bedrock',
    model: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
    settings: { region: 'eu-west-1' },
    path: '',
    apis: () => [strictMessages()],
  },
  {
    name: 'bedrock-invoke',
    model: 'global.anthropic.claude-sonnet-4-5-20250929-v1:0',
    settings: { kind: 'bedrock', region: 'eu-west-1', surface: 'invoke' },
    path: '',
    apis: () => [addressed(/\/model\/([^/]+)\/(invoke\S*)$/, 'bedrock-2023-05-31', true)],
  },
  {
    name: 'vertex',
    model: `${CLAUDE}@20250929`,
    settings: { project: 'p' },
    path: '',
    apis: () => [addressed(/\/publishers\/anthropic\/models\/([^/]+):(\w+)$/, 'vertex-2023-10-16')],
  },
  {
    name: 'vertex-gemini',
    model: 'gemini-3-pro',
    settings: { kind: 'vertex', project: 'p' },
    path: '',
    apis: () => [vertexGemini()],
  },
  {
    name: 'azure',
    model: 'prod',
    settings: { deployments: { prod: 'gpt-5.4' } },
    path: '/openai/v1',
    apis: () => [strictResponses(), strictChat({})],
  },
  {
    name: 'foundry',
    model: CLAUDE,
    settings: { kind: 'azure' },
    path: '/openai/v1',
    apis: () => [strictMessages()],
  },
];
