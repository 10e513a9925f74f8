#!/bin/sh
# An ACP agent that only waits: it opens sessions and ends every prompt at once. One shell, about 1 MB.
while read -r line; do
  id=${line#*'"id":'}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":1,"agentInfo":{"name":"idle-agent","version":"0.0.0"},"agentCapabilities":{"loadSession":true}}' ;;
    *'"method":"session/new"'*) result="{\"sessionId\":\"idle-$$\"}" ;;
    *'"method":"session/load"'*) result='{}' ;;
    *'"method":"session/prompt"'*) result='{"stopReason":"end_turn"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
