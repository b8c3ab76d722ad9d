#!/usr/bin/env bash
# Runs a load test, and shows its report in the summary of the job and on the pull request. It ends with the exit code of
# the test: 99 if a threshold failed, 98 if nothing was proved.
#
# URL, ARGS (a flag a line), COMMENT (true or false), PULL_REQUEST (empty: there is none), REPORTS (a folder)
set -euo pipefail

# comment writes the report into this job's comment on the pull request. An invisible first line marks that comment, so
# that those of other jobs and actions stay as they are.
comment() {
	export MARK="<!-- loadctl gate: ${GITHUB_WORKFLOW:-} ${GITHUB_JOB:-} -->"
	local body ids
	body=$(mktemp) || return
	{ echo "$MARK" && cat "$REPORTS/report.md"; } >"$body" || return
	ids=$(gh api --paginate "repos/$GH_REPO/issues/$PULL_REQUEST/comments" --jq '.[] | select(.body | startswith(env.MARK)) | .id') || return
	if [[ -n $ids ]]; then
		gh api --silent --method PATCH "repos/$GH_REPO/issues/comments/${ids##*$'\n'}" --field "body=@$body"
	else
		gh pr comment "$PULL_REQUEST" --body-file "$body"
	fi
}

mapfile -t args < <(sed -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e '/^$/d' <<<"$ARGS")
mkdir -p "$REPORTS"
echo "reports=$REPORTS" >>"$GITHUB_OUTPUT"

code=0
env --unset=GH_TOKEN loadworker run --url "$URL" "${args[@]}" --plain \
	--out "$REPORTS/report.md" --out "$REPORTS/report.json" --out "$REPORTS/report.html" || code=$?

if [[ -s $REPORTS/report.md ]]; then
	cat "$REPORTS/report.md" >>"$GITHUB_STEP_SUMMARY"
	if [[ $COMMENT == true && -n $PULL_REQUEST ]]; then
		# A pull request of a fork has no token that may write: the report is in the summary then.
		comment || echo "::warning::the report could not be commented; it is in the summary of this job"
	fi
fi
exit "$code"
