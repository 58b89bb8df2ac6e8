import { expect, test } from 'vitest';
import { meansNoEndpoint } from '../../../src/gateway/state/responses-support.ts';

const error = (message: string, rest: object = {}) => JSON.stringify({ error: { message, ...rest } });

test.each([
  [404, ''],
  [404, '404 page not found'],
  [404, '<html><body>Cannot POST /v1/responses</body></html>'],
  [404, '{"detail":"Not Found"}'],
  [404, '{"status":404,"error":"Not Found","path":"/v1/responses"}'],
  [404, '{"message":"no Route matched with those values"}'],
  [404, error('File Not Found', { code: 404, type: 'not_found_error' })],
  [404, error('Invalid URL (POST /v1/responses)')],
  [404, error('Unknown request URL: POST /openai/v1/responses. Please check the URL for typos')],
  [405, '{"detail":"Method Not Allowed"}'],
  [501, ''],
])('%d %s says that there is no such endpoint', (status, body) => {
  expect(meansNoEndpoint(status, body)).toBe(true);
});

test.each([
  [404, error('The model `x` does not exist or you do not have access to it.', { code: 'model_not_found' })],
  [404, error("model 'x' not found, try pulling it first")],
  [404, error("Previous response with id 'resp_1' not found.", { code: 'previous_response_not_found' })],
  [404, error("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.")],
  [404, '{}'],
  [404, '{"error":{"message":{"toString":1}}}'],
  [400, error('Invalid URL (POST /v1/responses)')],
  [200, ''],
])('%d %s says something else', (status, body) => {
  expect(meansNoEndpoint(status, body)).toBe(false);
});
