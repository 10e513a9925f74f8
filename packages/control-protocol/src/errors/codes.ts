/**
 * Every error a control server can answer, with its HTTP status. The set is closed: a code outside it does not compile
 * on the server, and a client treats one as an unreadable answer.
 */
export const ERROR_STATUS = {
  malformed_json: 400,
  invalid_request: 400,
  credential_required: 401,
  credential_unknown: 401,
  bootstrap_rejected: 401,
  credential_superseded: 403,
  origin_rejected: 403,
  host_rejected: 403,
  path_outside_roots: 403,
  instance_not_found: 404,
  permission_not_found: 404,
  rotation_unknown: 404,
  file_not_found: 404,
  route_not_found: 404,
  instance_exists: 409,
  turn_in_progress: 409,
  agent_not_running: 409,
  agent_already_running: 409,
  outcomes_unacknowledged: 409,
  permission_stale: 409,
  audience_mismatch: 409,
  runtime_in_use: 409,
  unsafe_cache_root: 409,
  bootstrap_consumed: 410,
  body_too_large: 413,
  invalid_package_spec: 422,
  permission_option_not_offered: 422,
  internal: 500,
  agent_start_failed: 502,
  agent_protocol_error: 502,
  npm_unavailable: 502,
  shutting_down: 503,
  agent_timeout: 504,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(ERROR_STATUS, value);
}
