import { applyEdits, insertMember } from '../../../json/edit.ts';
import { scanObject } from '../../../json/scan.ts';
import { createBetaFilter } from '../betas.ts';
import type { CloudAccount, CloudOptions, CloudRequest } from '../cloud.ts';
import { addressedBody } from '../edit-body.ts';
import { createAdc } from './adc.ts';
import { ofPublisher } from './gemini.ts';

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude */
const VERSION = 'vertex-2023-10-16';
const NOTHING: ReadonlySet<string> = new Set();

/** Claude by `rawPredict`, Gemini by its own API, other models by chat completions. */
export function vertexAccount({ settings, key }: CloudOptions): CloudAccount | string {
  const { project, region = 'global', baseUrl } = settings;
  const origin = baseUrl ?? originIn(region);
  if (project === undefined)
    return key === undefined
      ? 'has no project. Run: gw providers add vertex --project PROJECT'
      : expressAccount(origin);
  const location = `${origin}/v1/projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(region)}`;
  const signed = key === undefined ? { signer: createAdc(project) } : {};
  return {
    baseUrl: `${location}/endpoints/openapi`,
    cloud: { wire: 'openai', countsInput: false, ...signed },
    claude: {
      baseUrl: `${location}/publishers/anthropic`,
      cloud: { wire: 'anthropic', countsInput: true, wrap: predicted, betas: createBetaFilter(), ...signed },
    },
    gemini: {
      baseUrl: `${location}/publishers/google`,
      cloud: { wire: 'gemini', countsInput: true, wrap: ofPublisher, ...signed },
    },
    keySource: 'Application Default Credentials',
  };
}

/**
 * Express mode: a key reaches Gemini alone, without a project.
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/start/express-mode/vertex-ai-express-mode-api-reference
 */
const expressAccount = (origin: string): CloudAccount => ({
  baseUrl: `${origin}/v1/publishers/google`,
  cloud: { wire: 'gemini', countsInput: true, wrap: ofPublisher },
  keySource: undefined,
});

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/learn/locations */
function originIn(region: string): string {
  if (region === 'global') return 'https://aiplatform.googleapis.com';
  if (region === 'us' || region === 'eu') return `https://aiplatform.${region}.rep.googleapis.com`;
  return `https://${region}-aiplatform.googleapis.com`;
}

/**
 * A count's body names the model, without its version:
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/count-tokens,
 * https://github.com/BerriAI/litellm/issues/25798
 */
function counted(request: CloudRequest, publisher: string): CloudRequest {
  const path = `${publisher}/models/count-tokens:rawPredict`;
  const addressed = addressedBody(request.body ?? Buffer.alloc(0), NOTHING, {});
  if (!addressed) return { ...request, path };
  const { model, body } = addressed;
  const name = JSON.stringify(model.split('@')[0]);
  return { ...request, path, body: applyEdits(body, [insertMember(scanObject(body), 'model', name)]) };
}

/** A messages request for `rawPredict`, whose path names the model: `.../models/claude-opus-5:streamRawPredict`. */
function predicted(request: CloudRequest): CloudRequest {
  const [publisher = '', endpoint = ''] = request.path.split('/messages');
  if (endpoint.startsWith('/count_tokens')) return counted(request, publisher);
  const addressed = addressedBody(request.body ?? Buffer.alloc(0), NOTHING, { anthropic_version: VERSION });
  if (!addressed) return request;
  const { model, isStream, body } = addressed;
  const method = isStream ? 'streamRawPredict' : 'rawPredict';
  return {
    ...request,
    path: `${publisher}/models/${encodeURIComponent(model).replaceAll('%40', '@')}:${method}`,
    body,
  };
}
