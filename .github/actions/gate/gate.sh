#!/usr/bin/env bash
# Runs a load test, and shows its report in the summary of the job and on the pull request. It ends with the exit code of
# the test: 99 if a threshold failed, 98 if nothing was proved.
#
# URL, ARGS (a flag a line), COMMENT (true or false), PULL_REQUEST (empty: there is none), REPORTS (a folder)
set -euo pipefail

mapfile -t args < <(sed -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e '/^$/d' <<<"$ARGS")
mkdir -p "$REPORTS"
echo "reports=$REPORTS" >>"$GITHUB_OUTPUT"

code=0
loadworker run --url "$URL" "${args[@]}" --plain \
	--out "$REPORTS/report.md" --out "$REPORTS/report.json" --out "$REPORTS/report.html" || code=$?

if [[ -s $REPORTS/report.md ]]; then
	cat "$REPORTS/report.md" >>"$GITHUB_STEP_SUMMARY"
	if [[ $COMMENT == true && -n $PULL_REQUEST ]]; then
		# A pull request of a fork has no token that may write: the report is in the summary then.
		gh pr comment "$PULL_REQUEST" --edit-last --create-if-none --body-file "$REPORTS/report.md" ||
			echo "::warning::the report could not be commented; it is in the summary of this job"
	fi
fi
exit "$code"
