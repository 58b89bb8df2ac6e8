import { createBetaFilter } from '../betas.ts';
import type { CloudAccount, CloudOptions, CloudRequest } from '../cloud.ts';
import { counted } from './count.ts';
import { openFrames } from './frames.ts';
import { invoked } from './invoke.ts';
import { createSigV4 } from './sigv4.ts';

/** AWS's names of regions. */
const REGION = /^[a-z]{2,4}(?:-[a-z]+)+-\d$/;

/**
 * `runtime`, which AWS recommends, and `mantle` have the messages API for Claude and chat completions for other models;
 * `invoke` reaches Claude by the older InvokeModel: https://docs.aws.amazon.com/bedrock/latest/userguide/endpoints.html
 */
export function bedrockAccount({ settings, key }: CloudOptions): CloudAccount | string {
  const { region, profile, surface = 'runtime', baseUrl, deployments } = settings;
  if (region === undefined) return 'has no region. Run: gw providers add bedrock --region REGION';
  if (!REGION.test(region)) return `has a region "${region}", which AWS does not have`;
  const isMantle = surface === 'mantle';
  const origin =
    baseUrl ??
    (isMantle
      ? `https://bedrock-mantle.${region}.api.aws`
      : `https://bedrock-runtime.${region}.${domain(region)}`);
  const signer =
    key === undefined
      ? createSigV4({ region, service: isMantle ? 'bedrock-mantle' : 'bedrock', profile })
      : undefined;
  const signed = signer ? { signer } : {};
  const wrap = (request: CloudRequest): CloudRequest =>
    counted(request, deployments) ?? (surface === 'invoke' ? invoked(request) : request);
  return {
    baseUrl: isMantle ? `${origin}/v1` : `${origin}/openai/v1`,
    cloud: { wire: 'openai', countsInput: false, ...signed },
    claude: {
      baseUrl: `${origin}/anthropic/v1`,
      cloud: {
        wire: 'anthropic',
        // Mantle counts for every Claude by Anthropic's API, the others for some.
        countsInput: isMantle || 'for holds',
        ...signed,
        ...(isMantle ? {} : { wrap }),
        betas: createBetaFilter(),
        ...(surface === 'invoke' ? { openFrames } : {}),
      },
    },
    keySource: profile === undefined ? "AWS's default chain" : `AWS profile ${profile}`,
  };
}

/** https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html */
function domain(region: string): string {
  if (region.startsWith('cn-')) return 'amazonaws.com.cn';
  return region.startsWith('eusc-') ? 'amazonaws.eu' : 'amazonaws.com';
}
